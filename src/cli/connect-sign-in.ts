import { resolve } from 'node:path';
import type { Access, ApplicationConfig, CredentialPlace } from '../config/config.js';
import { configFileOf } from '../config/document.js';
import { editConfigFile } from '../config/edit-file.js';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import { oneOf } from '../domain/one-of.js';
import {
  followingScopes,
  identityScope,
  keepSignIn,
  managementScopes,
  mirrorScopes,
} from '../tasks/connect.js';
import { applicationOf, wantsNames } from './connect-companies.js';
import type { ConnectingCommand } from './connecting-command.js';
import { sessionPartsOf } from './engine-of.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { platformEdits, refusalOf } from './write-connected.js';

interface Kept {
  readonly application: ApplicationConfig;
  readonly place: CredentialPlace;
  readonly scopes: readonly string[];
}

/** `rosterd connect --source`, `--rule` and `--management`: a sign-in in a file or vault entry of its own, which rosterd keeps refreshed. */
export async function connectSignIn(command: ConnectingCommand): Promise<ExitCode> {
  const { context, loaded, person } = command;
  const { out, options, signal } = context;
  const kept = keptBy(command);
  const parts = { ...(await sessionPartsOf(context, loaded)), application: kept.application, person };
  const scopes = await keepSignIn(parts, kept.place, kept.scopes, signal);
  const { config, refusal } = options.flag('management')
    ? await saveManagement(command, kept)
    : { config: undefined, refusal: null };
  if (options.flag('json')) out.json({ ...kept.place, scopes, ...defined({ config }) });
  else out.line(`signed in; the tokens are in ${placeText(kept.place)}, and rosterd keeps them refreshed`);
  if (refusal !== null) throw refusal;
  return exitCodes.done;
}

function keptBy(command: ConnectingCommand): Kept {
  const { options } = command.context;
  if (options.flag('management')) return { ...managementOf(command), scopes: managementScopes };
  if (options.text('rule') !== undefined) return { ...ruleOf(command), scopes: followingScopes };
  return { ...sourceOf(command), scopes: [...mirrorScopes, ...(wantsNames(command) ? [identityScope] : [])] };
}

function ruleOf({ context, loaded }: ConnectingCommand): Omit<Kept, 'scopes'> {
  const name = context.options.text('rule');
  const { follows } = loaded.config;
  const rule = follows.find((one) => one.rule === name);
  if (rule === undefined)
    throw new Fault('usage', `no follow rule is called ${JSON.stringify(name)}`, {
      hint:
        follows.length === 0
          ? 'add one to "sources": {"follow": "installations", …}'
          : `one of: ${follows.map((one) => one.rule).join(', ')}`,
    });
  if (rule.access.kind !== 'credentials')
    throw new Fault('usage', `the rule ${name} uses a token, not credentials`, {
      hint: 'give the rule "credentials" instead of "token", or replace the token by hand',
    });
  return { application: signedInAs(loaded, rule.access), place: rule.access.at };
}

function sourceOf({ context, loaded }: ConnectingCommand): Omit<Kept, 'scopes'> {
  const name = context.options.text('source');
  const source = loaded.config.sources.find((one) => one.name === name);
  if (source === undefined) {
    throw new Fault('usage', `no source is called ${JSON.stringify(name)}`, {
      hint: oneOf(
        loaded.config.sources.map((one) => one.name),
        'leave --source out: the configuration lists none',
      ),
    });
  }
  if (source.access.kind !== 'credentials') {
    throw new Fault('usage', `source ${name} uses a token, not credentials`, {
      hint: '`rosterd connect` without --source creates a new token for its company',
    });
  }
  return { application: signedInAs(loaded, source.access), place: source.access.at };
}

function managementOf({ loaded, folder }: ConnectingCommand): Omit<Kept, 'scopes'> {
  const { management } = loaded.config.platform;
  if (management?.kind === 'credentials')
    return { application: signedInAs(loaded, management), place: management.at };
  return { application: applicationOf(loaded.config), place: { file: resolve(folder, managementFile) } };
}

const placeText = (place: CredentialPlace): string =>
  'file' in place ? place.file : `the vault entry "${place.entry}"`;

const managementFile = 'credentials/management.json';

/** Returns the client of the sign-in, with the redirect address of the application. */
function signedInAs(
  { config, settings }: ConnectingCommand['loaded'],
  { clientId, clientSecret }: Extract<Access, { kind: 'credentials' }>,
): ApplicationConfig {
  const { application } = config.platform;
  return {
    redirectUri: settings.platform.application?.redirectUri ?? 'http://127.0.0.1/callback',
    authorizeUrl: application?.authorizeUrl ?? null,
    clientId,
    clientSecret,
  };
}

interface SavedManagement {
  /** The new value; undefined when the configuration has it already. */
  readonly config: unknown;
  /** Why it could not be written; it is printed then. */
  readonly refusal: Fault | null;
}

/** Writes or prints the new value of `platform.management`. */
async function saveManagement(
  { context, loaded }: ConnectingCommand,
  kept: Omit<Kept, 'scopes'>,
): Promise<SavedManagement> {
  const { io, out, options } = context;
  if (loaded.config.platform.management?.kind === 'credentials') return { config: undefined, refusal: null };
  const secret = loaded.settings.platform.application?.clientSecret;
  const management = {
    credentials: {
      file: managementFile,
      clientId: kept.application.clientId,
      ...defined({ clientSecret: secret }),
    },
  };
  const writes = options.flag('write');
  const file = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
  const edits = [...platformEdits(options, loaded), { path: ['platform', 'management'], value: management }];
  const refusal = writes ? await refusalOf(editConfigFile(file, edits, io.clock)) : null;
  if ((!writes || refusal !== null) && !options.flag('json')) {
    out.note(`Add to "platform" in the configuration${writes ? '' : ', or run it again with --write'}:`);
    out.line(`"management": ${JSON.stringify(management)}`);
  }
  return { config: management, refusal };
}
