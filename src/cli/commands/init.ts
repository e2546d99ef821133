import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FirstAnswers } from '../../config/first-config.js';
import { Fault } from '../../domain/fault.js';
import { type Command, type CommandContext, configOptions } from '../command.js';
import { defaultDatabase } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { Options } from '../options.js';
import { doctor } from './doctor.js';

export const init: Command = {
  name: 'init',
  summary: 'Write a config.json by asking, or from flags, and check it',
  examples: [
    ['rosterd init', 'asks what it needs to know; an empty answer takes what stands in brackets'],
    [
      'rosterd init --base-url https://api.example.com --source acme --token-env ACME',
      'asks nothing that has a default when stdin is no terminal',
    ],
    ['rosterd init --base-url https://api.example.com --client-id pk_live_…', 'no token yet: sign in next'],
  ],
  options: [
    ...configOptions.filter(({ flags }) => flags.startsWith('--config')),
    { flags: '--base-url <url>', summary: 'address of the API' },
    { flags: '--source <name>', summary: 'what to call the first source, such as acme' },
    { flags: '--token-env <name>', summary: 'environment variable that holds its access token' },
    { flags: '--token-file <file>', summary: 'file that holds its access token, mode 0600' },
    { flags: '--client-id <key>', summary: 'publishable key of an application to sign in with, pk_…' },
    { flags: '--company <id>', summary: 'only this company (default: all the token may see)' },
    { flags: '--database <address>', summary: 'the mirror (default: sqlite:./data/mirror.db)' },
    {
      flags: '--identity <choice>',
      summary: 'names and addresses (default: keep)',
      choices: ['keep', 'drop'],
    },
    { flags: '--webhook-secret-env <name>', summary: 'environment variable with the signing secret' },
    { flags: '--webhook-secret-file <file>', summary: 'file with the signing secret, mode 0600' },
    { flags: '--no-input', summary: 'ask nothing, at a terminal neither' },
    { flags: '--no-doctor', summary: 'only write the file' },
    { flags: '--force', summary: 'replace a file that is there' },
  ],
  async run(context) {
    const { io, options, out } = context;
    const [{ configFileOf }, { alreadyThere, firstConfig, writeFirstConfig }, { askFirst }] =
      await Promise.all([
        import('../../config/load.js'),
        import('../../config/first-config.js'),
        import('../init-answers.js'),
      ]);
    const file = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
    const replace = options.flag('force');
    // Before the first question: nobody likes to answer eight of them for nothing.
    if (!replace && existsSync(file)) throw alreadyThere(file);
    const answers = await askFirst(context, await usualDatabase(context, dirname(file)));
    await refuseSecondSource(answers, context, dirname(file));
    await writeFirstConfig(file, firstConfig(answers, file), replace);
    out.note(`wrote ${file}`);
    if (answers.source === null) {
      out.note('There is no source in it yet. Try: rosterd connect --all --write');
      return exitCodes.done;
    }
    if (options.isOff('doctor')) return exitCodes.done;
    const code = await doctor.run({ ...context, options: new Options({ config: file, brief: true }) });
    out.note(
      code === exitCodes.done
        ? 'Try: rosterd sync, then rosterd status'
        : 'The file stands. Mend what failed, then try: rosterd doctor',
    );
    return code;
  },
};

/** A mirror that is there may hold the company under another name: both would be counted, and one never followed. */
async function refuseSecondSource(
  { source, database }: FirstAnswers,
  { io }: CommandContext,
  folder: string,
): Promise<void> {
  if (source?.company == null) return;
  const [{ mirroredBy }, { databaseAt }] = await Promise.all([
    import('../../reading/mirrored-by.js'),
    import('../../config/config.js'),
  ]);
  const lookedUp = async (company: string) =>
    mirroredBy(databaseAt(database, { env: io.env, folder }), company);
  // A server that does not answer is the doctor's to tell.
  const held = await lookedUp(source.company).catch((): readonly string[] => []);
  const [first] = held;
  if (first === undefined || held.includes(source.name)) return;
  throw new Fault('usage', `${source.company} is mirrored there already, by source "${first}"`, {
    hint: `--source ${first} goes on with it; --database sqlite:./data/other.db starts another mirror`,
  });
}

/** Real records beside made-up people would be counted together, so those keep their file and these get another. */
async function usualDatabase({ options, out }: CommandContext, folder: string): Promise<string> {
  const { isDemonstration } = await import('../../tasks/demo-mark.js');
  if (options.text('database') !== undefined || !isDemonstration(resolve(folder, defaultDatabase)))
    return `sqlite:./${defaultDatabase}`;
  out.note(
    `${defaultDatabase} holds the demonstration's invented people; yours go to ${besideDemonstration}`,
  );
  return `sqlite:./${besideDemonstration}`;
}

const besideDemonstration = 'data/mirror-2.db';
