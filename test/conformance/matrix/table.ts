import type { Operation } from '../../../src/platform/contract/operation.js';
import type { RunningPlatform, Sending } from '../running-platform.js';

/** A status, or a status and the type of the error. */
export type Cell = number | `${number} ${string}`;

export interface Asked extends Pick<Sending, 'body' | 'headers'> {
  readonly path: string;
}

export interface MatrixRow<Caller extends string, Stage> {
  /** The id of the declared operation. */
  readonly operation: string;
  /** Distinguishes the rows of one operation: whose record, which version. */
  readonly about?: string;
  readonly expected: Readonly<Record<Caller, Cell>>;
  /** A request that succeeds for a permitted caller. Its effects are rolled back after the cell. */
  request(stage: Stage): Asked;
  /** Checks the body of a 2xx response: a caller that may ask need not see everything. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
  sees?(body: any, caller: Caller, stage: Stage): void;
}

/** Rows over one set of callers; every cell of rows × callers is asserted. */
export interface MatrixTable<Caller extends string, Stage> {
  readonly name: string;
  readonly callers: readonly Caller[];
  /** The callers and records of the rows, created once for the table. */
  stage(world: RunningPlatform): Stage | Promise<Stage>;
  /** The bearer credential of the caller for this operation; null sends none. */
  credential(stage: Stage, caller: Caller, operation: Operation): string | null;
  readonly rows: readonly MatrixRow<Caller, Stage>[];
}

/** A table with its stage created, which is all the runner needs. */
export interface OpenTable {
  ask(row: number, caller: string, operation: Operation): Asked & { readonly token: string | null };
  sees(row: number, caller: string, body: unknown): void;
}

export interface AnyTable {
  readonly name: string;
  readonly rows: readonly {
    readonly operation: string;
    readonly about: string;
    readonly cells: readonly (readonly [caller: string, expected: Cell])[];
  }[];
  open(world: RunningPlatform): Promise<OpenTable>;
}

/** Hides the types of a table's callers and stage, so that different tables fit in one list. */
export function defineTable<Caller extends string, Stage>(table: MatrixTable<Caller, Stage>): AnyTable {
  const row = (index: number): MatrixRow<Caller, Stage> => {
    const found = table.rows[index];
    if (found === undefined) throw new Error(`${table.name} has no row ${index}`);
    return found;
  };
  return {
    name: table.name,
    rows: table.rows.map(({ operation, about = '', expected }) => ({
      operation,
      about,
      cells: table.callers.map((caller) => [caller, expected[caller]] as const),
    })),
    open: async (world) => {
      const stage = await table.stage(world);
      return {
        ask: (index, caller, operation) => ({
          ...row(index).request(stage),
          token: table.credential(stage, caller as Caller, operation),
        }),
        sees: (index, caller, body) => row(index).sees?.(body, caller as Caller, stage),
      };
    },
  };
}
