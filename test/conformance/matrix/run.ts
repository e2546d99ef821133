import { expect, test } from 'vitest';
import type { Operation } from '../../../src/contract/operation.js';
import type { TestWorld } from '../world.js';

/** Every kind of credential an operation may be called with. */
export const credentialKinds = [
  'none',
  'garbage',
  'publishable',
  'application',
  /** A user token with the scopes the operation asks for, of somebody the target belongs to. */
  'owner',
  /** The same scopes, of somebody it has nothing to do with. */
  'stranger',
  /** The owner's, with every scope but those asked for. */
  'unscoped',
  /** An installation on the target's company, with every scope. */
  'company',
  'otherCompany',
  'syndicate',
  'otherSyndicate',
] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** A status, or a status with its error type; every kind has an answer. */
export type Expected = number | readonly [number, string];
export type Cells = Readonly<Record<CredentialKind, Expected>>;

export interface MatrixRow {
  readonly operation: Operation;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cells: Cells;
}

export interface MatrixSetting {
  readonly world: TestWorld;
  /** Undefined sends no credential. */
  token(kind: CredentialKind, operation: Operation): string | undefined;
}

/** One test per row; each cell of it is asked for and must answer exactly as the table says. */
export function testMatrix(
  title: (operation: Operation) => string,
  rows: readonly MatrixRow[],
  settingOf: () => MatrixSetting,
  pathOf: (operation: Operation) => string,
): void {
  for (const row of rows) {
    test(title(row.operation), async () => {
      const { world, token } = settingOf();
      const answers: Record<string, Expected> = {};
      for (const kind of credentialKinds) {
        const bearer = token(kind, row.operation);
        const answer = await world.send(row.operation.method, pathOf(row.operation), {
          ...(bearer === undefined ? {} : { token: bearer }),
          ...(row.headers === undefined ? {} : { headers: row.headers }),
        });
        const type = answer.body?.error?.type as string | undefined;
        answers[kind] = type === undefined ? answer.status : [answer.status, type];
      }
      expect(answers).toEqual(row.cells);
    });
  }
}
