import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { configFileOf, type LoadedConfig } from '../config/document.js';
import { type Edit, editConfigFile } from '../config/edit-file.js';
import { parseJsonText } from '../config/json-text.js';
import { valueAt } from '../config/path.js';
import { Fault } from '../domain/fault.js';
import type { Connected } from './connected.js';
import type { ConnectingCommand } from './connecting-command.js';

/**
 * Prints what was connected, and writes it to the configuration or prints what to add there. Throws `usage` afterwards when
 * it could not be written.
 */
export async function writeConnected(
  command: ConnectingCommand,
  connected: readonly Connected[],
): Promise<void> {
  const { out, options } = command.context;
  const writes = options.flag('write');
  const refusal = writes ? await refusalOf(writeSources(command, connected)) : null;
  const written = writes && refusal === null;
  if (options.flag('json')) out.json({ written, connected: connected.map(jsonOf) });
  else {
    out.table(
      ['SOURCE', 'COMPANY', 'INSTALLATION', 'IDENTITY', 'TOKEN'].map((title) => ({ title })),
      connected.map(cellsOf),
    );
    if (!written) {
      out.note(`\nAdd to "sources" in the configuration${writes ? '' : ', or run it again with --write'}:`);
      for (const one of connected) out.line(JSON.stringify(entryFor(one)));
    }
  }
  for (const { source, replaces } of connected)
    if (replaces)
      out.note(
        `Source ${source} reads with another account now. Try: rosterd sync --source ${source} --resync`,
      );
  for (const { source, identity } of connected)
    if (!identity) out.warn(`${source}: identity was not granted, so names and addresses stay empty`);
  if (refusal !== null) throw refusal;
}

const jsonOf = (one: Connected) => ({
  source: one.source,
  company: one.company.id,
  name: one.company.name,
  installation: one.installation,
  tier: one.tier,
  scopes: one.scopes,
  identity: one.identity,
  config: entryFor(one),
});

const cellsOf = (one: Connected): readonly string[] => [
  one.source,
  `${one.company.name} (${one.company.id})`,
  one.installation,
  one.identity ? 'included' : 'not granted',
  one.file,
];

/** Returns the fault of a write that failed; what it was to write is printed first. */
export async function refusalOf(writing: Promise<void>): Promise<Fault | null> {
  try {
    await writing;
    return null;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/**
 * Throws `usage` when the file does not decide about the sources: what is written there would have no effect, or would be
 * mixed with an entry of the environment.
 */
export function requireSourcesInFile({ settings, originOf }: LoadedConfig): void {
  const places = [['sources'], ...settings.sources.map((_, index) => ['sources', index, 'name'])];
  const origin = places.map(originOf).find((one) => /^(?:env|flag) /.test(one));
  if (origin === undefined) return;
  throw new Fault('usage', `--write cannot add a source: "sources" comes from ${origin}`, {
    hint: 'leave --write out and add there what this command prints',
  });
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
  const file = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
  const edits = (content: unknown) => [
    ...platformEdits(options, loaded),
    ...sourceEdits(content, connected, loaded),
  ];
  await editConfigFile(resolve(io.cwd, file), edits, io.clock);
}

/**
 * Returns the names of the sources of other companies that the file has now: it may have changed while the person signed
 * in. None of a file that cannot be read, which is reported when it is written.
 */
export async function othersInFile(
  { context: { io, options } }: ConnectingCommand,
  company: string,
): Promise<readonly string[]> {
  const file = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
  try {
    const found = valueAt(parseJsonText(await readFile(resolve(io.cwd, file), 'utf8')).value, ['sources']);
    return (Array.isArray(found) ? found : []).flatMap((entry: unknown) => {
      const name = valueAt(entry, ['name']);
      return typeof name === 'string' && valueAt(entry, ['company']) !== company ? [name] : [];
    });
  } catch {
    return [];
  }
}

/** The file may have changed while the person signed in, so each entry is looked up there by its name. */
function sourceEdits(
  content: unknown,
  connected: readonly Connected[],
  { settings }: LoadedConfig,
): readonly Edit[] {
  const found = valueAt(content, ['sources']);
  const present = Array.isArray(found) ? found : [];
  const names = present.map((entry: unknown) =>
    valueAt(entry, ['follow']) === undefined ? valueAt(entry, ['name']) : null,
  );
  let next = present.length;
  return connected.flatMap((one): Edit[] => {
    const held = names.indexOf(one.source);
    const isNew = settings.sources.every(({ follow, name }) => follow !== undefined || name !== one.source);
    if (held >= 0 && isNew && valueAt(present[held], ['company']) !== one.company.id)
      throw new Fault('usage', `the configuration has another source called ${one.source} meanwhile`, {
        hint: 'add by hand what this command prints, with another name',
      });
    const at = held < 0 ? next++ : held;
    // Remove the sign-in of a replaced source: an entry may not have both credentials and a token.
    const edits = Object.entries({ ...entryFor(one), ...(one.replaces ? { credentials: undefined } : {}) });
    return edits.map(([key, value]) => ({ path: ['sources', at, key], value }));
  });
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
