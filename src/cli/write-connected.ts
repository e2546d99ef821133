import { resolve } from 'node:path';
import { configFileOf } from '../config/document.js';
import { type Edit, editConfigFile } from '../config/edit-file.js';
import type { Connected } from './connected.js';
import type { ConnectingCommand } from './connecting-command.js';

/** Prints what was connected, and writes it to the configuration or prints what to add there. */
export async function writeConnected(
  command: ConnectingCommand,
  connected: readonly Connected[],
): Promise<void> {
  const { out, options } = command.context;
  const writes = options.flag('write');
  if (writes) await writeSources(command, connected);
  const entries = connected.map(entryFor);
  if (options.flag('json')) {
    out.json({
      written: writes,
      connected: connected.map((one, index) => ({
        source: one.source,
        company: one.company.id,
        name: one.company.name,
        installation: one.installation,
        tier: one.tier,
        scopes: one.scopes,
        identity: one.identity,
        config: entries[index],
      })),
    });
  } else {
    out.table(
      ['SOURCE', 'COMPANY', 'INSTALLATION', 'IDENTITY', 'TOKEN'].map((title) => ({ title })),
      connected.map((one) => [
        one.source,
        `${one.company.name} (${one.company.id})`,
        one.installation,
        one.identity ? 'included' : 'not granted',
        one.file,
      ]),
    );
    if (!writes) {
      out.note('\nAdd to "sources" in the configuration, or run it again with --write:');
      for (const entry of entries) out.line(JSON.stringify(entry));
    }
  }
  for (const { source, replaces } of connected)
    if (replaces)
      out.note(
        `Source ${source} reads with another account now. Try: rosterd sync --source ${source} --resync`,
      );
  for (const { source, identity } of connected)
    if (!identity) out.warn(`${source}: identity was not granted, so names and addresses stay empty`);
}

const entryFor = (one: Connected) => ({
  name: one.source,
  token: { file: one.file },
  company: one.company.id,
  installation: one.installation,
});

async function writeSources(
  { context, loaded }: ConnectingCommand,
  connected: readonly Connected[],
): Promise<void> {
  const { io, options } = context;
  const known = loaded.settings.sources.map(({ follow, name }) => (follow === undefined ? name : null));
  let next = known.length;
  const sources = connected.flatMap((one): Edit[] => {
    const held = known.indexOf(one.source);
    const at = held < 0 ? next++ : held;
    // Remove the sign-in of a replaced source: an entry may not have both credentials and a token.
    const edits = Object.entries({ ...entryFor(one), ...(one.replaces ? { credentials: undefined } : {}) });
    return edits.map(([key, value]) => ({ path: ['sources', at, key], value }));
  });
  const file = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
  await editConfigFile(resolve(io.cwd, file), [...platformEdits(context.options, loaded), ...sources]);
}

/** Returns the edits for platform settings given as flags, without which the file would not work by itself. */
export function platformEdits(
  options: ConnectingCommand['context']['options'],
  { settings }: ConnectingCommand['loaded'],
): readonly Edit[] {
  const { baseUrl, application } = settings.platform;
  const at = ['platform', 'application'];
  return [
    ...(options.text('baseUrl') === undefined ? [] : [{ path: ['platform', 'baseUrl'], value: baseUrl }]),
    ...(options.text('clientId') === undefined
      ? []
      : [{ path: [...at, 'clientId'], value: application?.clientId }]),
    ...(application?.clientSecret === undefined ||
    (options.text('clientSecretEnv') ?? options.text('clientSecretFile')) === undefined
      ? []
      : [{ path: [...at, 'clientSecret'], value: application.clientSecret }]),
    ...(options.text('redirectUri') === undefined
      ? []
      : [{ path: [...at, 'redirectUri'], value: application?.redirectUri }]),
  ];
}
