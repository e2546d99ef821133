/** A file that decides what is allowed or what happens next, and the tests that hold it. */
export interface Target {
  readonly file: string;
  readonly tests: readonly string[];
}
