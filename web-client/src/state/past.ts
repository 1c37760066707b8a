// What of a tank's past is kept, as its server says.

export interface Mark {
  id: number;
  /** Seconds of the tank's time, as all moments. */
  t: number;
  name: string;
}

export interface Past {
  from: number;
  until: number;
  /** Of the tank's clock; 1: as the world's. */
  speed: number;
  marks: Mark[];
}
