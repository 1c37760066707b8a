// The newest of something that keeps coming, for whoever asks: each question is answered once, in their order; what
// nobody has asked for gives way to what is newer.

export class NewestFeed<T> implements AsyncIterableIterator<T> {
  private kept: T | null = null;
  private readonly waiting: ((result: IteratorResult<T>) => void)[] = [];
  private ended = false;

  /**
   * @param copy  makes what may be kept for good of what is valid until the next one comes
   * @param onLeave  nobody will ask any more
   */
  constructor(
    private readonly copy: (item: T) => T,
    private readonly onLeave: () => void,
  ) {}

  /** @param item  valid until the next call */
  give(item: T): void {
    const first = this.waiting.shift();
    this.kept = first === undefined ? item : null;
    first?.({ done: false, value: this.copy(item) });
  }

  /** Nothing more comes; what is kept can still be had. */
  end(): void {
    this.ended = true;
    for (const answer of this.waiting.splice(0)) answer({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<T>> {
    const { kept } = this;
    this.kept = null;
    if (kept !== null) return Promise.resolve({ done: false, value: this.copy(kept) });
    if (this.ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  return(): Promise<IteratorResult<T>> {
    this.kept = null;
    this.end();
    this.onLeave();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
