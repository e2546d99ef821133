import { resolve } from 'node:path';
import type { ApplicationConfig } from '../config/config.js';
import { type ListedSource, listedSources } from '../config/source-entries.js';
import { defined } from '../domain/defined.js';
import { Fault, isFault } from '../domain/fault.js';
import { mirroredBy } from '../reading/mirrored-by.js';
import {
  type Connecting,
  chosenCompanies,
  type Eligible,
  identityScope,
  idsOf,
  mirrorScopes,
  startConnecting,
} from '../tasks/connect.js';
import { entryOf, namedFor, sourceNameFor, tokenFileOf } from '../tasks/connected-source.js';
import { askLine } from './ask.js';
import type { Connected } from './connected.js';
import type { ConnectingCommand } from './connecting-command.js';
import { sessionPartsOf } from './engine-of.js';
import { type ExitCode, exitCodeOfFault, exitCodes } from './exit-codes.js';
import { nextStep } from './next-step.js';
import { othersInFile, requireSourcesInFile, writeConnected } from './write-connected.js';

/** `rosterd connect`: installs on each company separately, so that one refusal does not lose the other grants. */
export async function connectCompanies(command: ConnectingCommand): Promise<ExitCode> {
  const { context, loaded, person } = command;
  const { out, options, signal } = context;
  if (options.flag('write')) requireSourcesInFile(loaded);
  const parts = {
    ...(await sessionPartsOf(context, loaded)),
    application: applicationOf(loaded.config),
    person,
  };
  const connecting = await startConnecting(parts, signal);
  const connected: Connected[] = [];
  const refused: Fault[] = [];
  try {
    for (const company of await companiesAsked(connecting, command)) {
      try {
        connected.push(await connectOne(connecting, company, connected, command));
      } catch (error) {
        if (!isFault(error) || error.code === 'stopped') throw error;
        refused.push(error);
        out.error(`${company.id}: ${error.message}`);
        out.note(`Try: ${error.about.hint ?? nextStep[error.code]}`);
      }
    }
  } finally {
    await connecting.close();
    if (connected.length > 0) await writeConnected(command, connected);
  }
  const [first] = refused;
  return first === undefined ? exitCodes.done : exitCodeOfFault[first.code];

  async function companiesAsked(from: Connecting, { context: { io } }: ConnectingCommand) {
    const eligible = await from.companies(signal);
    const chosen = chosenCompanies(eligible, {
      ids: options.list('company'),
      all: options.flag('all'),
    });
    if (chosen !== 'choose') return chosen;
    if (io.stdin.isTTY !== true) {
      throw new Fault('usage', `there are ${eligible.length} companies to choose from`, {
        hint: `--all, or --company with one of: ${idsOf(eligible)}`,
      });
    }
    eligible.forEach(({ id, name, tier, installation }, index) => {
      const state = installation === null ? '' : ', installed';
      out.note(`  ${index + 1}  ${name} (${id}), ${tier}${state}`);
    });
    return picked(eligible, await askLine(io, 'Which? Numbers, or all: ', signal));
  }
}

async function connectOne(
  connecting: Connecting,
  company: Eligible,
  before: readonly Connected[],
  command: ConnectingCommand,
): Promise<Connected> {
  const { context, loaded, folder } = command;
  const { options, signal } = context;
  const sources = listedSources(loaded.settings.sources).map(({ source }) => source);
  const entries = sources.map(plainEntry);
  const same = entryOf(entries, company);
  const replaced = same === undefined ? await sourceToReplace() : undefined;
  const entry = same ?? entries.find(({ name }) => name === replaced);
  const taken = [
    ...sources.map(({ name }) => name),
    ...before.map(({ source }) => source),
    // Their token files must not be overwritten.
    ...(await othersInFile(command, company.id)),
  ];
  const source = entry?.name ?? replaced ?? sourceNameFor(company, taken);
  const file = tokenFileOf(entry, source, company.id);
  const scopes = [...mirrorScopes, ...(wantsNames(command) ? [identityScope] : [])];
  const installed = await connecting.install(company.id, scopes, resolve(folder, file), signal);
  // Records are listed for an account: another installation of the same company is another one.
  const isOther = same !== undefined && same.installation !== installed.installation;
  return { ...installed, company, source, file, replaces: replaced !== undefined || isOther };

  /**
   * Returns the source whose token the new one replaces, or undefined when no source mirrors the company. Runs before the
   * installation. Throws `usage` without `--replace`: a second source would count every record of the company twice.
   */
  async function sourceToReplace(): Promise<string | undefined> {
    const held = await mirroredBy(loaded.config.database, company.id);
    const found = [...new Set([...namedFor(sources.map(withCompany), company), ...held])];
    // A configured source wins over one that only the mirror still has rows of.
    const configured = found.filter((name) => entries.some((one) => one.name === name));
    const [first, ...more] = configured.length > 0 ? configured : found;
    if (first === undefined || (options.flag('replace') && more.length === 0)) return first;
    const names = [first, ...more].map((name) => `"${name}"`).join(' and ');
    throw new Fault('usage', `${company.name} is already mirrored, by source ${names}`, {
      hint:
        more.length === 0
          ? `--replace gives source "${first}" the new token; a second source would count every record twice`
          : 'leave one of them in "sources", then --replace gives it the new token',
    });
  }
}

/** Whether names are requested: an application may not have their scope, and a mirror that drops them needs none. */
export function wantsNames({ context: { options }, loaded }: ConnectingCommand): boolean {
  return !options.flag('withoutIdentity') && loaded.config.identity === 'keep';
}

function withCompany(source: ListedSource) {
  const { companyId } = source.filters;
  return { ...plainEntry(source), filters: defined({ companyId }) };
}

/** Copies a source without its undefined settings, as a configuration entry has it. */
function plainEntry(source: ListedSource) {
  const { name, token, credentials, company, installation } = source;
  return {
    name,
    ...defined({ token, credentials, company, installation }),
  };
}

function picked(eligible: readonly Eligible[], answer: string): readonly Eligible[] {
  if (answer.trim().toLowerCase() === 'all') return eligible;
  const numbers = answer.split(/[\s,]+/).filter((word) => word !== '');
  const companies = numbers.flatMap((word) => {
    const company = /^\d{1,6}$/.test(word) ? eligible[Number(word) - 1] : undefined;
    return company === undefined ? [] : [company];
  });
  // A number that is typed twice is one company: two sources would count its records twice.
  if (companies.length > 0 && companies.length === numbers.length) return [...new Set(companies)];
  throw new Fault('usage', `the answer must be numbers from 1 to ${eligible.length}, or all`);
}

export function applicationOf(config: ConnectingCommand['loaded']['config']): ApplicationConfig {
  const { application } = config.platform;
  if (application !== null) return application;
  throw new Fault(
    'usage',
    'platform.application is not set: rosterd does not know which application to sign in as',
    {
      hint: '--client-id pk_…, and --client-secret-env NAME unless it is a public client',
    },
  );
}
