import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FirstAnswers, SecretPlace } from '../../config/first-config.js';
import { Fault } from '../../domain/fault.js';
import { type Command, type CommandContext, configOptions } from '../command.js';
import { defaultDatabase } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { Options } from '../options.js';
import { doctor } from './doctor.js';

export const init: Command = {
  name: 'init',
  summary: 'Write a config.json from answers or flags, and check it',
  examples: [
    ['rosterd init', 'asks questions; an empty answer takes the default in brackets'],
    [
      'rosterd init --base-url https://api.example.com --source acme --token-env ACME',
      'without a terminal: takes the defaults, asks nothing',
    ],
    ['rosterd init --base-url https://api.example.com --client-id pk_live_…', 'no token yet: sign in next'],
  ],
  options: [
    ...configOptions.filter(({ flags }) => flags.startsWith('--config')),
    { flags: '--base-url <url>', summary: 'address of the API' },
    { flags: '--source <name>', summary: 'name of the first source, such as acme' },
    { flags: '--token-env <name>', summary: 'environment variable with its access token' },
    { flags: '--token-file <file>', summary: 'file with its access token, mode 0600' },
    { flags: '--client-id <key>', summary: 'publishable key of an application to sign in with, pk_…' },
    { flags: '--company <id>', summary: 'only this company (default: all companies the token can read)' },
    { flags: '--database <address>', summary: 'where to keep the mirror (default: sqlite:./data/mirror.db)' },
    {
      flags: '--identity <choice>',
      summary: 'store names and addresses, or drop them (default: keep)',
      choices: ['keep', 'drop'],
    },
    { flags: '--webhook-secret-env <name>', summary: 'environment variable with the signing secret' },
    { flags: '--webhook-secret-file <file>', summary: 'file with the signing secret, mode 0600' },
    { flags: '--no-input', summary: 'ask nothing, even at a terminal' },
    { flags: '--no-doctor', summary: 'write the file without checking it' },
    { flags: '--force', summary: 'replace an existing file' },
  ],
  async run(context) {
    const { io, options, out } = context;
    const [
      { configFileOf },
      { alreadyThere, firstConfig, writeFirstConfig },
      { askFirst },
      { requireReplaceable },
    ] = await Promise.all([
      import('../../config/document.js'),
      import('../../config/first-config.js'),
      import('../init-answers.js'),
      import('../../runtime/replaceable.js'),
    ]);
    const file = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
    const replace = options.flag('force');
    // Checked before the first question, so that no answers are wasted.
    if (!replace && existsSync(file)) throw alreadyThere(file);
    requireReplaceable(file);
    if (replace) (await import('../../reading/mirrored-by.js')).refuseAnyMirror(file);
    const answers = await askFirst(context, await usualDatabase(context, dirname(file)));
    await refuseOwnOutput(answers, file);
    await refuseSecondSource(answers, context, dirname(file));
    await writeFirstConfig(file, firstConfig(answers, file), replace);
    out.note(`wrote ${file}`);
    if (answers.source === null) {
      out.note('The file has no source yet. Try: rosterd connect --all --write');
      return exitCodes.done;
    }
    if (options.isOff('doctor')) return exitCodes.done;
    const code = await doctor.run({ ...context, options: new Options({ config: file, brief: true }) });
    out.note(
      code === exitCodes.done
        ? 'Try: rosterd sync, then rosterd status'
        : 'The file is written. Fix what failed, then try: rosterd doctor',
    );
    return code;
  },
};

/** Throws `usage` for an answer that names the file which is about to be written: `--force` would replace a token by it. */
async function refuseOwnOutput(answers: FirstAnswers, file: string): Promise<void> {
  const { database, source, webhookSecret } = answers;
  const { ownUseOf } = await import('../../config/own-files.js');
  for (const [flag, path] of [
    ['--token-file', fileOf(source?.token)],
    ['--webhook-secret-file', fileOf(webhookSecret)],
    ['--database', database.startsWith('sqlite:') ? database.slice('sqlite:'.length) : null],
  ] as const)
    if (path !== null && ownUseOf(resolve(dirname(file), path), null, file) !== null)
      throw new Fault('usage', `${flag} is ${path}, the configuration that would be written`, {
        hint: `name another file, or --config FILE to write the configuration elsewhere`,
      });
}

const fileOf = (place: SecretPlace | null | undefined): string | null =>
  place != null && 'file' in place ? place.file : null;

/**
 * Throws `usage` when the existing mirror already has the company under another source name: its records would be
 * counted twice, and the old source would never be updated.
 */
async function refuseSecondSource(
  { source, database }: FirstAnswers,
  { io }: CommandContext,
  folder: string,
): Promise<void> {
  if (source?.company == null) return;
  const [{ mirroredBy }, { databaseAt }] = await Promise.all([
    import('../../reading/mirrored-by.js'),
    import('../../config/config-from.js'),
  ]);
  const lookedUp = async (company: string) =>
    mirroredBy(databaseAt(database, { env: io.env, folder }), company);
  // The doctor reports a server that does not respond.
  const held = await lookedUp(source.company).catch((): readonly string[] => []);
  const [first] = held;
  if (first === undefined || held.includes(source.name)) return;
  throw new Fault('usage', `${source.company} is already mirrored there, by source "${first}"`, {
    hint: `--source ${first} continues with it; --database sqlite:./data/other.db starts another mirror`,
  });
}

/** Returns another file when the usual one holds the demonstration: made-up and real records must not be mixed. */
async function usualDatabase({ options, out }: CommandContext, folder: string): Promise<string> {
  const { isDemonstration } = await import('../../tasks/demo-mark.js');
  if (options.text('database') !== undefined || !isDemonstration(resolve(folder, defaultDatabase)))
    return `sqlite:./${defaultDatabase}`;
  out.note(
    `${defaultDatabase} holds the made-up data of the demo; your mirror goes to ${besideDemonstration}`,
  );
  return `sqlite:./${besideDemonstration}`;
}

const besideDemonstration = 'data/mirror-2.db';
