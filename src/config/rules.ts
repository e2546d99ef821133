import { isSandboxToken } from '../wire/credential-shapes.js';
import { accessClashes } from './access-clashes.js';
import type { Clash } from './clash.js';
import { isPostgres, withoutPassword } from './database.js';
import { doubledSources, overlappingSources } from './doubled-sources.js';
import { tablesOfPeople } from './export-tables.js';
import { fileClashes } from './file-clashes.js';
import { followClashes, followedTwice, keptInVain } from './follow-clashes.js';
import { isLoopback, parseListen } from './formats.js';
import type { Path } from './path.js';
import type { Settings } from './settings.js';
import { followRules, type ListedSource, listedSources } from './source-entries.js';
import { vaultClashes } from './vault-clashes.js';

/** Rules over more than one value, and warnings about allowed settings. */

interface Read {
  /** Returns the folder that a relative path in a setting starts from. */
  folderOf(path: Path): string;
  /** A draft may lack what `rosterd connect` adds. */
  readonly draft?: boolean;
  /** The file of the configuration, if it has one. */
  readonly file?: string | null;
}

export function clashesIn(
  settings: Settings,
  { folderOf, draft = false, file = null }: Read,
): readonly Clash[] {
  return [
    ...repeatedSources(settings.sources),
    ...repeatedNames('notices', settings.notices),
    ...repeatedNames('afterSync', settings.afterSync),
    ...listedSources(settings.sources).flatMap(({ source, at }) => sourceClashes(source, at)),
    ...doubledSources(settings.sources),
    ...followClashes(settings),
    ...(draft ? [] : unknownSources(settings)),
    ...(settings.platform.management === undefined
      ? []
      : accessClashes(settings.platform.management, ['platform', 'management'], 'MANAGEMENT_TOKEN')),
    ...receiverClashes(settings),
    ...(draft ? [] : unmanagedEndpoint(settings)),
    ...sharedAddress(settings),
    ...databaseClashes(settings),
    ...vaultClashes(settings),
    ...fileClashes(settings, folderOf, file),
    ...emptyQuietHours(settings),
    ...exportsOfPeople(settings),
    ...openConsole(settings),
  ];
}

function emptyQuietHours({ sync: { quietHours } }: Settings): readonly Clash[] {
  if (quietHours === null || quietHours.from !== quietHours.to) return [];
  return [
    {
      path: ['sync', 'quietHours', 'to'],
      message: `is ${quietHours.to}, the time of from; expected another time`,
      hint: 'for no quiet hours set sync.quietHours to null; to stop listings altogether: rosterd pause',
    },
  ];
}

function exportsOfPeople({ exports: { tables, identity } }: Settings): readonly Clash[] {
  if (identity) return [];
  return tables.flatMap((table, index) =>
    tablesOfPeople.has(table)
      ? [
          {
            path: ['exports', 'tables', index],
            message: `is ${table}, which names people, and exports.identity is false`,
            hint: 'use investments, or set exports.identity to true',
          },
        ]
      : [],
  );
}

function databaseClashes({ database, databasePassword }: Settings): readonly Clash[] {
  if (databasePassword === undefined) return [];
  const path = ['databasePassword'];
  if (!isPostgres(database))
    return [{ path, message: 'is only for a PostgreSQL database, and "database" names a file' }];
  if (withoutPassword(database).password === null) return [];
  return [
    {
      path,
      message: 'is set, and the address in "database" contains a password too',
      hint: 'keep one of them',
    },
  ];
}

function repeatedNames(
  list: string,
  entries: readonly { readonly name: string }[],
  path: Path = [list],
): readonly Clash[] {
  return entries.flatMap(({ name }, index) => {
    const first = entries.findIndex((entry) => entry.name === name);
    return first === index
      ? []
      : [
          {
            path: [...path, index, 'name'],
            message: `is ${name}, the name of ${list}[${first}]; expected another name`,
          },
        ];
  });
}

function repeatedSources(entries: Settings['sources']): readonly Clash[] {
  const sources = listedSources(entries);
  return sources.flatMap(({ source: { name }, at, index }) => {
    const first = sources.find(({ source }) => source.name === name);
    return first === undefined || first.index === index
      ? []
      : [
          {
            path: [...at, 'name'],
            message: `is ${name}, the name of sources[${first.index}]; expected another name`,
          },
        ];
  });
}

function sourceClashes(source: ListedSource, at: Path): readonly Clash[] {
  const clashes: Clash[] = [...accessClashes(source, at, 'ROSTERD_TOKEN')];
  const filtered = source.filters.companyId;
  if (source.company !== undefined && filtered !== undefined && filtered !== source.company) {
    clashes.push({
      path: [...at, 'filters', 'companyId'],
      message: `is ${filtered}, but company is ${source.company}; expected the same`,
      hint: 'remove filters.companyId: company sets it',
    });
  }
  return clashes;
}

function receiverClashes({ receiver }: Settings): readonly Clash[] {
  if (receiver === null) return [];
  if (receiver.endpoint === null && receiver.secrets.length === 0) {
    return [
      {
        path: ['receiver', 'secrets'],
        message: 'is missing; expected the signing secret, or receiver.endpoint, which creates one',
        hint: 'for example "secrets": [{"env": "HOOK_SECRET"}]',
      },
    ];
  }
  return [];
}

function unmanagedEndpoint({ receiver, platform }: Settings): readonly Clash[] {
  if (receiver === null || receiver.endpoint === null || platform.management !== undefined) return [];
  return [
    {
      path: ['platform', 'management'],
      message: 'is missing; receiver.endpoint needs it',
      hint: '`rosterd connect --management --write` signs in and sets it',
    },
  ];
}

/** Names in a message; the rest is counted. */
const namesMax = 20;

function unknownSources({ sources, notices, afterSync }: Settings): readonly Clash[] {
  // The names of followed sources are not known here.
  if (followRules(sources).length > 0) return [];
  const known = listedSources(sources).map(({ source }) => source.name);
  const more = known.length > namesMax ? ` and ${known.length - namesMax} more` : '';
  const expected = `expected the name of a source: ${known.slice(0, namesMax).join(', ')}${more}`;
  const unknownIn = (named: readonly string[], path: Path): readonly Clash[] =>
    named.flatMap((name, at) =>
      known.includes(name) ? [] : [{ path: [...path, at], message: `is ${name}; ${expected}` }],
    );
  return [
    ...notices.flatMap(({ rules }, index) =>
      unknownIn(rules.sources ?? [], ['notices', index, 'rules', 'sources']),
    ),
    ...afterSync.flatMap((hook, index) => unknownIn(hook.sources ?? [], ['afterSync', index, 'sources'])),
  ];
}

/** The receiver and the console may not share a port: the receiver faces the internet and the console must not. */
function sharedAddress({ receiver, console: board }: Settings): readonly Clash[] {
  const port = board === null ? undefined : parseListen(board.listen)?.port;
  if (receiver === null || port === undefined || port === 0) return [];
  return parseListen(receiver.listen)?.port === port
    ? [
        {
          path: ['console', 'listen'],
          message: `has port ${port}, the port of receiver.listen; expected another port`,
        },
      ]
    : [];
}

export function warningsAbout(settings: Settings): readonly string[] {
  const writtenOut = settings.sources.flatMap((source, index) =>
    typeof source.token === 'string' && isSandboxToken(source.token)
      ? [
          `sources[${index}].token contains the token itself; allowed for a sandbox token, never for a live one`,
        ]
      : [],
  );
  return [
    ...writtenOut,
    ...overlappingSources(settings.sources),
    ...followedTwice(settings.sources),
    ...keptInVain(settings),
  ];
}

/** Requires `console.auth` when others can reach the console, because it shows rows. */
function openConsole({ console }: Settings): readonly Clash[] {
  const at = console === null ? undefined : parseListen(console.listen);
  if (console === null || at === undefined) return [];
  const { auth, hosts } = console;
  if (auth === null) {
    const reached = isLoopback(at.host) ? hosts[0] : console.listen;
    if (reached === undefined) return [];
    return [
      {
        path: ['console', 'auth'],
        message: `is missing, and other machines can reach ${reached}; expected a token, or a user and password`,
        hint: 'for example "auth": {"token": {"env": "CONSOLE_TOKEN"}}; or listen on 127.0.0.1:8788 only',
      },
    ];
  }
  return signInClashes(auth);
}

function signInClashes(auth: NonNullable<NonNullable<Settings['console']>['auth']>): readonly Clash[] {
  const path = ['console', 'auth'];
  const { tokens = [], proxy } = auth;
  const repeated = [
    ...repeatedNames('console.auth.tokens', tokens, [...path, 'tokens']),
    ...repeatedNames('console.auth.proxy.users', proxy?.users ?? [], [...path, 'proxy', 'users']),
  ];
  const beside = auth.user !== undefined ? 'user' : auth.password !== undefined ? 'password' : undefined;
  const key = auth.token !== undefined ? 'token' : tokens.length > 0 ? 'tokens' : undefined;
  if (key !== undefined) {
    if (beside === undefined) return repeated;
    return [
      ...repeated,
      {
        path: [...path, beside],
        message: `cannot be combined with ${key}; expected a token, or a user and password`,
      },
    ];
  }
  if (proxy !== undefined && beside === undefined) return repeated;
  const missing = auth.user === undefined ? 'user' : auth.password === undefined ? 'password' : undefined;
  if (missing === undefined) return repeated;
  return [
    ...repeated,
    {
      path: [...path, missing],
      message: 'is missing; expected a token, or a user and password',
      hint: 'for example "auth": {"token": {"env": "CONSOLE_TOKEN"}}',
    },
  ];
}
