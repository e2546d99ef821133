import { writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { Fault } from '../domain/fault.js';
import { packageRoot } from '../runtime/package-root.js';
import { replaceWhole } from './edit-file.js';

/** Where a secret is; never the secret. */
export type SecretPlace = { readonly env: string } | { readonly file: string };

/** What somebody who starts must say; everything else has a default. */
export interface FirstAnswers {
  readonly baseUrl: string;
  readonly database: string;
  readonly identity: 'keep' | 'drop';
  /** Null until a sign-in brings the first source. */
  readonly source: {
    readonly name: string;
    readonly token: SecretPlace;
    readonly company: string | null;
  } | null;
  /** The application to sign in with; null with a token at hand. */
  readonly clientId: string | null;
  /** Null polls only. */
  readonly webhookSecret: SecretPlace | null;
}

/** The configuration these answers make, with nothing in it that a default says as well. */
export function firstConfig(answers: FirstAnswers, file: string): Readonly<Record<string, unknown>> {
  const { baseUrl, database, identity, source, clientId, webhookSecret } = answers;
  return {
    $schema: schemaFrom(dirname(file)),
    platform: { baseUrl, ...(clientId === null ? {} : { application: { clientId } }) },
    database,
    ...(source === null
      ? {}
      : {
          sources: [
            {
              name: source.name,
              token: source.token,
              ...(source.company === null ? {} : { company: source.company }),
            },
          ],
        }),
    ...(webhookSecret === null ? {} : { receiver: { secrets: [webhookSecret] } }),
    identity,
  };
}

/** Writes a file that was not there; with `replace`, also one that was. Throws `usage` when it cannot be written. */
export async function writeFirstConfig(
  file: string,
  config: Readonly<Record<string, unknown>>,
  replace: boolean,
): Promise<void> {
  const text = `${JSON.stringify(config, null, 2)}\n`;
  // It names secrets and holds none, so whoever edits it may read it.
  const mode = 0o644;
  try {
    if (replace) return await replaceWhole(file, text, mode);
    await writeFile(file, text, { mode, flag: 'wx' });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    if (code === 'EEXIST') throw alreadyThere(file);
    throw new Fault('usage', `${file} cannot be written (${code})`, {
      hint: 'name a file in a folder that exists and that you may write to: --config FILE',
      cause: error,
    });
  }
}

export function alreadyThere(file: string): Fault {
  return new Fault('usage', `${file} is there already`, {
    hint: '--force to replace it, or --config FILE to write another one',
  });
}

/** For editors, which complete and check by it: beside the file as a relative path, elsewhere as an absolute one. */
function schemaFrom(folder: string): string {
  const schema = join(packageRoot, 'schema', 'config.schema.json');
  const path = relative(folder, schema);
  return path.startsWith('..') ? schema : `./${path.split(sep).join('/')}`;
}
