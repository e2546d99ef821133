import { isSandboxToken } from '../contract/credential-shapes.js';
import type { Path } from './path.js';
import type { Settings } from './settings.js';
import { isLoopback, parseListen } from './values.js';

/** Rules that look at more than one value, and settings that are allowed but should not pass in silence. */

export interface Clash {
  readonly path: Path;
  readonly message: string;
  readonly hint?: string;
}

export function clashesIn(settings: Settings): readonly Clash[] {
  return [
    ...repeatedNames('sources', settings.sources),
    ...repeatedNames('notices', settings.notices),
    ...settings.sources.flatMap(sourceClashes),
    ...settings.notices.flatMap((notice, index) =>
      unknownSources(notice.rules.sources ?? [], index, settings),
    ),
    ...(settings.platform.management === undefined
      ? []
      : accessClashes(settings.platform.management, ['platform', 'management'], 'MANAGEMENT_TOKEN')),
    ...receiverClashes(settings),
    ...sharedAddress(settings),
    ...openConsole(settings),
  ];
}

function repeatedNames(list: string, entries: readonly { readonly name: string }[]): readonly Clash[] {
  return entries.flatMap(({ name }, index) => {
    const first = entries.findIndex((entry) => entry.name === name);
    return first === index
      ? []
      : [
          {
            path: [list, index, 'name'],
            message: `is ${name}, as ${list}[${first}] is; expected another name`,
          },
        ];
  });
}

function sourceClashes(source: Settings['sources'][number], index: number): readonly Clash[] {
  const clashes: Clash[] = [...accessClashes(source, ['sources', index], 'ROSTERD_TOKEN')];
  const filtered = source.filters.companyId;
  if (source.company !== undefined && filtered !== undefined && filtered !== source.company) {
    clashes.push({
      path: ['sources', index, 'filters', 'companyId'],
      message: `is ${filtered}, but company is ${source.company}; expected the same`,
      hint: 'leave filters.companyId out: company sets it',
    });
  }
  return clashes;
}

/** Exactly one way in. */
function accessClashes(
  access: Pick<Settings['sources'][number], 'token' | 'credentials'>,
  path: Path,
  variable: string,
): readonly Clash[] {
  if (access.token === undefined && access.credentials === undefined) {
    return [
      {
        path: [...path, 'token'],
        message: 'is missing; expected token or credentials',
        hint: `for example "token": {"env": "${variable}"}`,
      },
    ];
  }
  if (access.token === undefined || access.credentials === undefined) return [];
  return [{ path: [...path, 'credentials'], message: 'stands beside token; expected one of the two' }];
}

function receiverClashes({ receiver, platform }: Settings): readonly Clash[] {
  if (receiver === null) return [];
  if (receiver.endpoint === null && receiver.secrets.length === 0) {
    return [
      {
        path: ['receiver', 'secrets'],
        message: 'is missing; expected the signing secret, or endpoint to have one made',
        hint: 'for example "secrets": [{"env": "HOOK_SECRET"}]',
      },
    ];
  }
  if (receiver.endpoint === null || platform.management !== undefined) return [];
  return [
    {
      path: ['platform', 'management'],
      message: 'is missing; receiver.endpoint is managed with it',
      hint: '`rosterd connect --management` signs in for it',
    },
  ];
}

function unknownSources(named: readonly string[], index: number, settings: Settings): readonly Clash[] {
  const known = settings.sources.map(({ name }) => name);
  return named.flatMap((name, at) =>
    known.includes(name)
      ? []
      : [
          {
            path: ['notices', index, 'rules', 'sources', at],
            message: `is ${name}; expected the name of a source: ${known.join(', ')}`,
          },
        ],
  );
}

/** The receiver faces the internet and the console must not, so they never share a socket. */
function sharedAddress({ receiver, console: board }: Settings): readonly Clash[] {
  const port = board === null ? undefined : parseListen(board.listen)?.port;
  if (receiver === null || port === undefined || port === 0) return [];
  return parseListen(receiver.listen)?.port === port
    ? [{ path: ['console', 'listen'], message: `has port ${port}, as receiver.listen has; expected another` }]
    : [];
}

export function warningsAbout(settings: Settings): readonly string[] {
  return settings.sources.flatMap((source, index) =>
    typeof source.token === 'string' && isSandboxToken(source.token)
      ? [`sources[${index}].token is written out; fine for a sandbox token, never do so with a live one`]
      : [],
  );
}

/** It has no sign-in and shows rows: who may reach the address may read them. */
function openConsole({ console }: Settings): readonly Clash[] {
  const at = console === null ? undefined : parseListen(console.listen);
  if (at === undefined || isLoopback(at.host)) return [];
  return [
    {
      path: ['console', 'listen'],
      message: `is ${at.host}:${at.port}; expected a loopback address, as the console has no sign-in`,
      hint: '127.0.0.1:8788, and a proxy with sign-in in front of it',
    },
  ];
}
