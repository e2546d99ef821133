import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import { makePrivateFolder, writePrivateFile } from '../runtime/private-file.js';
import { requireReplaceable } from '../runtime/replaceable.js';
import {
  type EndpointWithSecret,
  type Management,
  openManagement,
  type WebhookEndpoint,
} from '../tasks/management.js';
import type { CommandContext } from './command.js';
import { configOf } from './config-options.js';
import { sessionPartsOf } from './engine-of.js';
import { refuseOwnOutput } from './own-output.js';
import { pathOption } from './path-argument.js';

/** Runs `work` with a platform session that may manage endpoints, and closes the session. */
export async function managing<Result>(
  context: CommandContext,
  work: (api: Management['api'], config: Config) => Promise<Result>,
): Promise<Result> {
  const loaded = await configOf(context, { draft: true });
  const management = openManagement(await sessionPartsOf(context, loaded), context.options.text('source'));
  try {
    return await work(management.api, loaded.config);
  } catch (error) {
    throw await management.explained(error);
  } finally {
    await management.close();
  }
}

/**
 * Returns the file for `--secret-file` and makes its folder. Runs before any request, because the platform shows a
 * secret only once. Throws `usage` when the folder cannot be written to.
 */
export async function secretFileOf(context: CommandContext): Promise<string | undefined> {
  const file = pathOption(context, 'secretFile', '--secret-file');
  if (file === undefined) return undefined;
  requireReplaceable(file);
  try {
    await makePrivateFolder(dirname(file));
    await access(dirname(file), constants.W_OK);
  } catch (cause) {
    throw new Fault('usage', `--secret-file: the folder of ${file} cannot be written`, {
      hint: 'name a file in a folder that this user can write to',
      cause,
    });
  }
  return file;
}

/** Throws `usage` for a file that rosterd needs for something else than a signing secret. */
export async function refuseOtherFile(
  file: string | undefined,
  config: Config,
  context: CommandContext,
): Promise<void> {
  if (file === undefined) return;
  (await import('../reading/mirrored-by.js')).refuseOwnFile(config.database, file);
  const { receiver } = config;
  const others = { ...config, receiver: receiver === null ? null : { ...receiver, secrets: [] } };
  await refuseOwnOutput(file, others, context);
}

/**
 * Returns the file for the secret of a new endpoint: the one asked for, or one beside it that is named after the endpoint if
 * that exists, because it may contain the secret of another endpoint.
 */
export function fileOfNew({ endpoint }: EndpointWithSecret, file: string | undefined): string | undefined {
  return file === undefined || !existsSync(file) ? file : `${file}.${endpoint.id}`;
}

/** Prints an endpoint, and its secret or the file the secret was stored in. */
export async function printWithSecret(
  { endpoint, secret }: EndpointWithSecret,
  file: string | undefined,
  { out, options }: CommandContext,
): Promise<void> {
  const stored = secret !== null && file !== undefined && (await storeSecret(secret, file, out));
  const shown = stored ? null : secret;
  if (options.flag('json')) {
    out.json({ ...endpoint, secret: shown, ...(stored ? { secretFile: file } : {}) });
    return;
  }
  printEndpoint(endpoint, out);
  if (stored) out.note(`The signing secret is in ${file}: "secrets": [{"file": ${JSON.stringify(file)}}]`);
  else if (shown === null)
    out.note('The endpoint existed already; `rosterd endpoints rotate` creates a new secret.');
  else {
    out.line(`secret: ${shown}`);
    out.note('The secret is shown only once. Store it where receiver.secrets of the configuration points.');
  }
}

async function storeSecret(secret: string, file: string, out: CommandContext['out']): Promise<boolean> {
  try {
    await writePrivateFile(file, `${secret}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    out.error(`${error.message}; the secret is printed instead, so that it is not lost`);
    return false;
  }
}

export function printEndpoint(endpoint: WebhookEndpoint, out: CommandContext['out']): void {
  out.table(
    [{ title: 'FIELD' }, { title: 'VALUE' }],
    [
      ['id', endpoint.id],
      ['url', addressOf(endpoint)],
      ['mode', endpoint.mode],
      ['installation', endpoint.installation ?? 'none, app-wide'],
      ['events', endpoint.events.join(' ')],
      ['state', stateOf(endpoint)],
      ['last delivery', lastDelivery(endpoint)],
      ['created', endpoint.createdAt ?? ''],
    ],
  );
}

export const addressOf = ({ url, urlHint }: WebhookEndpoint): string => url ?? urlHint ?? '';

export function stateOf({ enabled, failingSince }: WebhookEndpoint): string {
  if (!enabled) return 'disabled';
  return failingSince === null ? 'enabled' : `failing since ${failingSince}`;
}

export const lastDelivery = ({ lastDeliveryAt, lastDeliveryStatus }: WebhookEndpoint): string =>
  lastDeliveryAt === null ? 'never' : `${lastDeliveryStatus ?? ''} at ${lastDeliveryAt}`;
