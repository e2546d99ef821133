/** What a part's process is asked: first to start, then to call a method. */
export type Order =
  | { readonly start: string; readonly options: object }
  | { readonly no: number; readonly method: string; readonly args: readonly unknown[] };

export type Reply =
  | { readonly started: true }
  | { readonly no: number; readonly value: unknown }
  /** Without a number, the part did not start. */
  | { readonly no: number | null; readonly problem: string };
