import {
  isClientId,
  isCompany,
  isDatabase,
  isPath,
  isSourceName,
  isVariable,
  isWebAddress,
} from '../config/answer-checks.js';
import type { FirstAnswers, SecretPlace } from '../config/first-config.js';
import { shownValue } from '../config/shown-value.js';
import { Fault } from '../domain/fault.js';
import type { CommandContext } from './command.js';
import { Conversation, type Objection } from './conversation.js';
import type { Options } from './options.js';

/** The check of every flag that answers a question, by commander's name of the flag. */
const checks: Readonly<Record<string, Objection>> = {
  baseUrl: isWebAddress,
  source: isSourceName,
  tokenEnv: isVariable,
  tokenFile: isPath,
  clientId: isClientId,
  company: isCompany,
  database: isDatabase,
  webhookSecretEnv: isVariable,
  webhookSecretFile: isPath,
};

/**
 * Returns the answers for a first configuration: from flags, and otherwise from questions at the terminal. Throws
 * `usage` for invalid flags and, without a terminal, for missing ones. `databaseUsual` is the default location of the
 * mirror.
 */
export async function askFirst(context: CommandContext, databaseUsual: string): Promise<FirstAnswers> {
  const { io, options, signal } = context;
  refuseWrong(options);
  if (io.stdin.isTTY !== true || options.isOff('input')) {
    refuseMissing(options);
    return await answersOf(options, null, databaseUsual);
  }
  const conversation = new Conversation(
    io,
    signal,
    'rosterd help init, which lists a flag for every question',
  );
  try {
    return await answersOf(options, conversation, databaseUsual);
  } finally {
    conversation.close();
  }
}

async function answersOf(
  options: Options,
  person: Conversation | null,
  databaseUsual: string,
): Promise<FirstAnswers> {
  /** Returns the flag, else the typed answer, else the default. */
  const answer = async (name: string, question: string, usual: string | null): Promise<string> => {
    const told = options.text(name);
    if (told !== undefined || person === null) return told ?? usual ?? '';
    const check = checks[name] ?? (() => undefined);
    return await person.ask(question, usual, (text) =>
      text === '' && usual === '' ? undefined : check(text),
    );
  };
  const baseUrl = await answer('baseUrl', 'Address of the API', null);
  const way = await wayIn(options, person);
  let source: FirstAnswers['source'] = null;
  let clientId: string | null = null;
  if (way === 'sign-in') {
    clientId = await answer('clientId', 'Publishable key of the application, pk_…', null);
  } else {
    const name = await answer('source', 'Name of the first source', 'main');
    const token: SecretPlace =
      way === 'env'
        ? { env: await answer('tokenEnv', 'Environment variable with the token', variableFor(name)) }
        : { file: await answer('tokenFile', 'File with the token', `credentials/${name}.token`) };
    const company = await answer('company', 'Mirror only one company? Its id, co_…', '');
    source = { name, token, company: company === '' ? null : company };
  }
  const database = await answer('database', 'Where to keep the mirror', databaseUsual);
  const identity =
    options.text('identity') ??
    (await person?.ask('Names and addresses: keep or drop', 'keep', oneOf(['keep', 'drop']))) ??
    'keep';
  const hookFile = options.text('webhookSecretFile');
  const hookEnv =
    hookFile === undefined
      ? await answer('webhookSecretEnv', 'Receive webhooks? Environment variable with the signing secret', '')
      : '';
  return {
    baseUrl,
    database,
    source,
    clientId,
    identity: identity === 'drop' ? 'drop' : 'keep',
    webhookSecret: hookFile === undefined ? (hookEnv === '' ? null : { env: hookEnv }) : { file: hookFile },
  };
}

type WayIn = 'env' | 'file' | 'sign-in';
const waysIn: readonly WayIn[] = ['env', 'file', 'sign-in'];

async function wayIn(options: Options, person: Conversation | null): Promise<WayIn> {
  if (options.text('tokenEnv') !== undefined) return 'env';
  if (options.text('tokenFile') !== undefined) return 'file';
  if (options.text('clientId') !== undefined || person === null) return 'sign-in';
  const question =
    'Where is the access token? It is never stored in the configuration itself\n' +
    '  1  in an environment variable\n' +
    '  2  in a file only you can read\n' +
    '  3  no token yet: I will sign in with `rosterd connect`\n' +
    'One of 1, 2, 3';
  return waysIn[Number(await person.ask(question, '1', oneOf(['1', '2', '3']))) - 1] ?? 'env';
}

const oneOf =
  (choices: readonly string[]): Objection =>
  (text) =>
    choices.includes(text) ? undefined : choices.join(' or ');

const variableFor = (source: string): string =>
  `${source.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_TOKEN`.replace(/^(?=\d)/, '_');

const dashed = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function refuseWrong(options: Options): void {
  for (const [name, check] of Object.entries(checks)) {
    const told = options.text(name);
    const wanted = told === undefined ? undefined : check(told);
    if (told === undefined || wanted === undefined) continue;
    throw new Fault('usage', `${dashed(name)} is ${shownValue(told)}`, { hint: wanted });
  }
  const ways = ['tokenEnv', 'tokenFile', 'clientId'].filter((name) => options.text(name) !== undefined);
  if (ways.length > 1) throw oneToo(ways);
  const hooks = ['webhookSecretEnv', 'webhookSecretFile'].filter((name) => options.text(name) !== undefined);
  if (hooks.length > 1) throw oneToo(hooks);
  const only = ['source', 'company'].find((name) => options.text(name) !== undefined);
  if (ways[0] === 'clientId' && only !== undefined)
    throw new Fault('usage', `${dashed(only)} cannot be combined with --client-id`, {
      hint: 'leave it out: rosterd connect adds the sources, one for each company',
    });
}

function oneToo(names: readonly string[]): Fault {
  return new Fault('usage', `${names.map(dashed).join(' and ')} exclude each other`, {
    hint: 'give one of them',
  });
}

function refuseMissing(options: Options): void {
  const has = (name: string) => options.text(name) !== undefined;
  const missing = [
    ...(has('baseUrl') ? [] : ['--base-url']),
    ...(has('source') || has('clientId') ? [] : ['--source']),
    ...(has('tokenEnv') || has('tokenFile') || has('clientId')
      ? []
      : ['one of --token-env, --token-file and --client-id']),
  ];
  if (missing.length === 0) return;
  throw new Fault('usage', `without questions, these flags are required: ${missing.join(', ')}`, {
    hint: 'rosterd init --base-url https://api.example.com --source acme --token-env ACME_TOKEN',
  });
}
