import { dirname, resolve } from 'node:path';
import type { LoadedConfig } from '../../config/document.js';
import { Fault } from '../../domain/fault.js';
import type { Person } from '../../tasks/connect.js';
import { askLine } from '../ask.js';
import { type Command, type CommandContext, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import type { ConnectingCommand } from '../connecting-command.js';
import type { Options } from '../options.js';

export const connect: Command = {
  name: 'connect',
  summary: 'Sign in to the platform, install on companies and store their tokens',
  examples: [
    ['rosterd connect', 'opens the consent page, asks which companies, prints what to configure'],
    ['rosterd connect --all --write', 'every company you may install on, added to config.json'],
    [
      'rosterd connect --no-browser --company co_…',
      'on a server: prints a link, reads the redirect address from stdin',
    ],
    ['rosterd connect --source mine', 'signs in again for a source with credentials'],
    ['rosterd connect --management', 'signs in to manage webhook endpoints'],
    ['rosterd connect --rule crm', 'signs in the manager whose installations a follow rule follows'],
  ],
  options: [
    ...configOptions,
    { flags: '--base-url <url>', summary: 'address of the API; overrides platform.baseUrl' },
    { flags: '--client-id <key>', summary: 'publishable key of the application, pk_…' },
    { flags: '--client-secret-env <name>', summary: 'environment variable with its secret key' },
    { flags: '--client-secret-file <file>', summary: 'file with its secret key, mode 0600' },
    { flags: '--redirect-uri <uri>', summary: 'registered redirect (default: http://127.0.0.1/callback)' },
    { flags: '--no-browser', summary: 'print the link and read the redirect address from stdin' },
    { flags: '--company <id>', summary: 'this company; may be repeated', repeats: true },
    { flags: '--all', summary: 'every company the person may install on' },
    { flags: '--without-identity', summary: 'do not request names and addresses' },
    {
      flags: '--source <name>',
      summary: 'sign in again for this source, which uses credentials',
      once: true,
    },
    { flags: '--management', summary: 'sign in to manage webhook endpoints' },
    { flags: '--rule <name>', summary: 'sign in for this follow rule, which uses credentials', once: true },
    { flags: '--write', summary: 'write the result to the configuration file' },
    { flags: '--replace', summary: 'give the token to the source that already mirrors the company' },
    jsonOption,
  ],
  async run(context) {
    const { options } = context;
    const signIns = [options.text('source'), options.text('rule'), options.flag('management') || undefined];
    const isSignIn = signIns.some((one) => one !== undefined);
    if (signIns.filter((one) => one !== undefined).length > 1)
      throw new Fault('usage', '--source, --rule and --management are different sign-ins: give one of them');
    refuseIgnored(options, isSignIn);
    const loaded = await configOf(context, { draft: true, flags: connectFlags(context) });
    const connecting: ConnectingCommand = {
      context,
      loaded,
      person: personAt(context),
      folder: folderOf(context, loaded),
    };
    if (isSignIn) {
      const { connectSignIn } = await import('../connect-sign-in.js');
      return connectSignIn(connecting);
    }
    const { connectCompanies } = await import('../connect-companies.js');
    return connectCompanies(connecting);
  },
};

/** Throws `usage` for an option that would be ignored beside another. */
function refuseIgnored(options: Options, isSignIn: boolean): void {
  const asked = [
    ...(options.list('company').length > 0 ? ['--company'] : []),
    ...['all', 'replace'].filter((name) => options.flag(name)).map((name) => `--${name}`),
  ];
  if (isSignIn && asked.length > 0)
    throw new Fault(
      'usage',
      `${asked.join(' and ')}: --source, --rule and --management install on no company`,
      {
        hint: '`rosterd connect` without them installs on companies',
      },
    );
  if (asked.includes('--company') && asked.includes('--all'))
    throw new Fault('usage', '--company and --all: give one of them');
}

/** Maps flags to the configuration options they set under a shorter name. */
function connectFlags({ options }: CommandContext) {
  const variable = options.text('clientSecretEnv');
  const file = options.text('clientSecretFile');
  if (variable !== undefined && file !== undefined)
    throw new Fault('usage', '--client-secret-env and --client-secret-file: give one of them');
  const secret = variable === undefined ? file && { file } : { env: variable };
  const given = [
    ['platform.baseUrl', options.text('baseUrl'), '--base-url'],
    ['platform.application.clientId', options.text('clientId'), '--client-id'],
    ['platform.application.redirectUri', options.text('redirectUri'), '--redirect-uri'],
    ['platform.application.clientSecret', secret && JSON.stringify(secret), '--client-secret'],
  ] as const;
  return given.flatMap(([path, text, flag]) => (text === undefined ? [] : [{ path, text, flag }]));
}

function personAt({ io, out, options }: CommandContext): Person {
  // commander turns --no-browser into browser: false, and into true without it.
  const pastes = options.isOff('browser');
  return {
    show: (link, withinMillis) => {
      const ends = pastes ? 'the redirect address' : 'the browser to be redirected back here';
      out.note(`Sign in here:\n\n  ${link}\n\nWaiting ${withinMillis / 60_000} minutes for ${ends}.`);
      if (pastes || io.stderr.isTTY !== true) return;
      void import('../../tasks/open-browser.js').then(({ openBrowser }) => openBrowser(link));
    },
    paste: pastes
      ? (signal) => askLine(io, 'Paste the address your browser ended at, or the code: ', signal)
      : null,
  };
}

function folderOf({ io }: CommandContext, { file }: LoadedConfig): string {
  return file === null ? io.cwd : dirname(resolve(file));
}
