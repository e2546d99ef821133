import { open, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { Fault } from '../domain/fault.js';
import { packageRoot } from '../runtime/package-root.js';
import { unwritable } from '../runtime/unwritable.js';
import { newFileMode, replaceWhole } from './edit-file.js';

/** A reference to a secret, never its value. */
export type SecretPlace = { readonly env: string } | { readonly file: string };

/** The answers a first configuration needs; everything else has a default. */
export interface FirstAnswers {
  readonly baseUrl: string;
  readonly database: string;
  readonly identity: 'keep' | 'drop';
  /** Null when `rosterd connect` will add the first source. */
  readonly source: {
    readonly name: string;
    readonly token: SecretPlace;
    readonly company: string | null;
  } | null;
  /** The application to sign in with; null when there is a token. */
  readonly clientId: string | null;
  /** Null for polling without webhooks. */
  readonly webhookSecret: SecretPlace | null;
}

/** Returns the configuration for these answers, without values that equal the defaults. */
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

/** Creates the file, or with `replace` overwrites an existing one. Throws `usage` when it exists or cannot be written. */
export async function writeFirstConfig(
  file: string,
  config: Readonly<Record<string, unknown>>,
  replace: boolean,
): Promise<void> {
  const text = `${JSON.stringify(config, null, 2)}\n`;
  try {
    if (replace) return await replaceWhole(file, text, newFileMode);
    const handle = await open(file, 'wx', newFileMode);
    try {
      await handle.writeFile(text);
    } catch (error) {
      // An empty file would look like a configuration that exists already.
      await rm(file, { force: true });
      throw error;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyThere(file);
    const fault = unwritable(file, error);
    if (fault.code !== 'usage') throw fault;
    throw new Fault('usage', fault.message, {
      hint: 'name a file in an existing folder you can write to: --config FILE',
      cause: error,
    });
  }
}

export function alreadyThere(file: string): Fault {
  return new Fault('usage', `${file} already exists`, {
    hint: '--force to replace it, or --config FILE to write another one',
  });
}

/** Returns the `$schema` that editors use: relative when the schema lies below the folder, else absolute. */
function schemaFrom(folder: string): string {
  const schema = join(packageRoot, 'schema', 'config.schema.json');
  const path = relative(folder, schema);
  return path.startsWith('..') ? schema : `./${path.split(sep).join('/')}`;
}
