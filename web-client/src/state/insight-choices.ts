// What somebody wants to see of a flow, and what a machine is asked to do for it.
import type { Channel } from "../protocol/messages.js";
import type { Axis, FlowQuantity } from "./flow-slice.js";
import type { Tier } from "./quality.js";

/** A field of the tank's cells, which frames carry for whoever asks: where it is cut. */
export interface FieldWish {
  name: string;
  axis: Axis;
  /** Of the tank's edge along that axis. */
  share: number;
}

export interface InsightChoices {
  slice: boolean;
  axis: Axis;
  /** Where the plane lies, of the tank's edge along the axis. */
  share: number;
  /** A FlowQuantity, or FIELD and a field's name. */
  quantity: string;
  arrows: boolean;
  streams: boolean;
  /** Of streamlines, and of dots in a row. */
  seeds: number;
  /** A row of dots comes off the rake so often, seconds of the tank's time; 0: when somebody asks. */
  everyS: number;
  /** Ranges of scales stay as they are. */
  held: boolean;
}

export const FIELD = "field ";
export const EVERY_S = 0.2;

export function firstChoices(): InsightChoices {
  return {
    slice: false,
    axis: 2,
    share: 0.5,
    quantity: "speed",
    arrows: true,
    streams: false,
    seeds: 12,
    everyS: 0,
    held: false,
  };
}

/** What a plane can show, as it is named: of the particles first, then the tank's fields. */
export function quantitiesOf(axis: Axis, fields: readonly Channel[], isLiquid: boolean): Channel[] {
  const own: Channel[] = [
    { name: "speed", label: "Speed", unit: "m/s" },
    { name: "along", label: `Velocity along ${"xyz"[axis]}`, unit: "m/s" },
    { name: "vorticity", label: `Vorticity about ${"xyz"[axis]}`, unit: "1/s" },
  ];
  // A liquid's speed comes with its particles; that of fluid without any doesn't.
  const more = fields.filter(({ name, kinds }) => (kinds ?? "") === "" && !(isLiquid && name === "speed"));
  return [
    ...own,
    ...more.map((field) => ({
      ...field,
      name: `${FIELD}${field.name}`,
      label: `${field.label === "" ? field.name : field.label}${field.name === "speed" ? " of all the fluid" : ""}`,
    })),
  ];
}

/** The name of the field that is asked for; "": none. */
export function fieldOf({ slice, quantity }: InsightChoices): string {
  return slice && quantity.startsWith(FIELD) ? quantity.slice(FIELD.length) : "";
}

export function flowQuantityOf({ quantity }: InsightChoices): FlowQuantity | null {
  return quantity === "speed" || quantity === "along" || quantity === "vorticity" ? quantity : null;
}

/** At most, of a picture. */
export interface Budget {
  /** On the longer side of a plane. */
  texels: number;
  arrows: number;
  seeds: number;
  /** Of a streamline to either side, in half voxels of the flow's grid. */
  steps: number;
  dots: number;
}

export const BUDGETS: Readonly<Record<Tier, Budget>> = {
  points: { texels: 96, arrows: 160, seeds: 12, steps: 120, dots: 512 },
  spheres: { texels: 128, arrows: 240, seeds: 16, steps: 160, dots: 1024 },
  "water-low": { texels: 160, arrows: 300, seeds: 24, steps: 240, dots: 2048 },
  water: { texels: 224, arrows: 400, seeds: 32, steps: 320, dots: 4096 },
};
