import { z } from 'zod';
import { type EventName, eventNames } from '../wire/events.js';
import { defaultHeaderPrefix, defaultRequestIdHeader } from '../wire/headers.js';
import { perPage, rateLimits } from '../wire/limits.js';
import { latestVersion, versions } from '../wire/versions.js';
import {
  accessTokenReference,
  databaseAddress,
  headerToken,
  idOf,
  listenAddress,
  secretMark,
  secretReference,
  sourceName,
  webAddress,
} from './values.js';

/**
 * Every option, with its default, its unit and the reason for it. The JSON Schema, the table of options, the
 * names of environment variables and `config show` all come from here.
 */

const token = accessTokenReference.optional();

const credentials = z
  .strictObject({
    file: z.string().min(1).meta({
      description: 'Where `rosterd connect` keeps the rotating tokens; created with mode 0600',
    }),
    clientId: z.string().min(1).meta({ description: 'Publishable key of the application, pk_…' }),
    clientSecret: secretReference.optional().meta({
      ...secretMark,
      description: 'Secret key of the application; left out for a public one',
    }),
  })
  .optional();

const application = z
  .strictObject({
    clientId: z.string().min(1).meta({ description: 'Publishable key of the application, pk_…' }),
    clientSecret: secretReference.optional().meta({
      ...secretMark,
      description: 'Secret key of the application; left out for a public one',
    }),
    redirectUri: z
      .string()
      .refine((uri) => URL.canParse(uri) && !uri.includes('#'), 'a URL such as http://127.0.0.1/callback')
      .default('http://127.0.0.1/callback')
      .meta({
        description:
          'Registered redirect; on 127.0.0.1 without a port, any free one is used, as RFC 8252 has it',
      }),
    authorizeUrl: webAddress.optional().meta({
      description: 'Consent page, where it is not at the usual path of platform.baseUrl',
    }),
  })
  .optional()
  .meta({ description: 'The application `rosterd connect` signs in with' });

const management = z
  .strictObject({
    token: token.meta({
      ...secretMark,
      description: 'Access token with write:webhooks. Either this or credentials',
    }),
    credentials: credentials.meta({
      description: 'A sign-in made with `rosterd connect --management`, refreshed when it is used',
    }),
  })
  .optional()
  .meta({ description: 'Who manages webhook endpoints: for `rosterd endpoints` and receiver.endpoint' });

const platform = z
  .strictObject({
    baseUrl: webAddress.meta({ description: 'Address of the API, without a path of its own' }),
    version: z.enum(versions).default(latestVersion).meta({
      description: 'API version sent with every request; fixed, so that an upgrade is a decision',
    }),
    headerPrefix: headerToken.default(defaultHeaderPrefix).meta({
      description: 'First word of the headers of this deployment, as in Service-Version, Service-Signature',
    }),
    requestIdHeader: headerToken.default(defaultRequestIdHeader).meta({
      description: 'Header in which this deployment tells the id of a request; support asks for it',
    }),
    ca: z.string().min(1).optional().meta({
      description: 'PEM file of a private certificate authority, trusted beside the usual ones',
    }),
    requestsPerHour: z.int().min(10).nullable().default(rateLimits.token.limit).meta({
      description:
        'Requests a token may make in an hour, shared by all that use it; null where nobody counts',
    }),
    timeouts: z
      .strictObject({
        connectSeconds: z.number().min(0.1).max(300).default(10).meta({
          description: 'Seconds to reach the platform; a healthy connect takes well under one',
        }),
        requestSeconds: z.number().min(0.1).max(600).default(60).meta({
          description: 'Seconds for one request and its whole answer; a full page may take a few',
        }),
      })
      .prefault({})
      .meta({ description: 'How long to wait for the platform' }),
    application,
    management,
  })
  .meta({ description: 'The API to mirror' });

const filters = z
  .strictObject({
    companyId: idOf('company', 'co_…').optional().meta({ description: "Only this company's investments" }),
    offeringId: idOf('offering', 'ofr_…')
      .optional()
      .meta({ description: 'Only investments in this offering' }),
    investorId: idOf('user', 'usr_…').optional().meta({ description: "Only this investor's investments" }),
  })
  .prefault({})
  .meta({ description: 'Narrow what the token may see. Changing one demands `rosterd sync --resync`' });

const source = z
  .strictObject({
    name: sourceName.meta({ description: 'Name of the source: the `source` column of every table' }),
    token: token.meta({
      ...secretMark,
      description: 'Access token with read:investments. Either this or credentials',
    }),
    credentials: credentials.meta({
      description: 'A sign-in made with `rosterd connect --source`, refreshed by the daemon',
    }),
    company: idOf('company', 'co_…').optional().meta({
      description: 'The company this source is about; also sets filters.companyId',
    }),
    installation: idOf('installation', 'inst_…').optional().meta({
      description: 'Installation whose webhooks belong to this source; without it any webhook nudges it',
    }),
    filters,
  })
  .meta({ description: 'One token, one company or person: one feed with its own cursor' });

const sync = z
  .strictObject({
    intervalSeconds: z.int().min(1).max(86_400).default(60).meta({
      description: 'Seconds between ticks; 60 spends 60 of the 1,000 requests an hour a token has',
    }),
    idleIntervalSeconds: z.int().min(1).max(86_400).default(180).meta({
      description:
        'Seconds between ticks while webhooks announce every change and nothing else is found; no stretching unless it is more than intervalSeconds',
    }),
    perPage: z.int().min(1).max(perPage.max).default(perPage.max).meta({
      description: 'Records per page; the most the API gives, since requests are what is counted',
    }),
    concurrency: z.int().min(1).max(32).default(4).meta({
      description: 'Sources synced at the same time; pages of one source are always in order',
    }),
    brake: z
      .strictObject({
        share: z.number().min(0).max(1).default(0.2).meta({
          description:
            'Share of the rows held, 0 to 1. A re-listing that lacks more of them deletes none of these: they await deletion until accepted',
        }),
        rows: z.int().min(0).default(50).meta({
          description:
            'Rows; fewer missing rows than this are deleted without asking, so small mirrors are not nagged',
        }),
      })
      .prefault({})
      .meta({
        description:
          'When a re-listing lacks more rows than both, it is published without its deletions, which a person has to accept',
      }),
  })
  .prefault({})
  .meta({ description: 'How often and how fast to follow the platform' });

const endpoint = z
  .strictObject({
    publicUrl: webAddress.meta({
      description: 'Address at which the platform reaches this receiver, its path included',
    }),
    mode: z.enum(['live', 'test']).default('live').meta({
      description: 'Whose events: those of live accounts or those of the sandbox realm',
    }),
    events: z
      .array(z.enum(eventNames as readonly [EventName, ...EventName[]]))
      .min(1)
      .default(['investment.changed'])
      .meta({ description: 'Events to be told of; the mirror needs no other than the default' }),
    file: z.string().min(1).default('credentials/endpoint.json').meta({
      description: 'Where its signing secrets are kept; created with mode 0600',
    }),
    checkSeconds: z.int().min(10).max(86_400).default(300).meta({
      description: 'Seconds between looks at its health; 300 spends 12 of the 1,000 requests an hour',
    }),
    rotateDays: z.int().min(1).max(3_650).nullable().default(90).meta({
      description: 'Days after which its secret is replaced, both live for a day; null never does',
    }),
  })
  .nullable()
  .default(null)
  .meta({
    description:
      'A webhook endpoint the daemon creates, keeps enabled and rotates itself; needs platform.management',
  });

const receiver = z
  .strictObject({
    listen: listenAddress.default('127.0.0.1:8787').meta({
      description: 'Address and port for webhooks; loopback, because a TLS proxy belongs in front',
    }),
    path: z
      .string()
      .regex(/^\/[A-Za-z0-9/_.-]*$/, 'a path such as /webhooks')
      .refine((path) => path !== '/healthz', 'another path: /healthz is taken')
      .default('/webhooks')
      .meta({ description: 'Path the platform posts to' }),
    secrets: z
      .array(secretReference)
      .max(10)
      .default([])
      .meta({
        ...secretMark,
        description:
          'Signing secrets, all of them valid: list the new one beside the old while rotating. Needed unless endpoint is set',
      }),
    endpoint,
    maxConnections: z.int().min(1).max(10_000).default(2_048).meta({
      description:
        'Connections at once; when all are taken, a newcomer takes the place of the one that waited longest without a delivery',
    }),
    maxConnectionsPerAddress: z.int().min(1).max(10_000).nullable().default(null).meta({
      description:
        'Connections of one address that has not delivered yet, while all are taken; null allows half of maxConnections. Raise it to maxConnections behind a proxy whose address everybody shares',
    }),
  })
  .nullable()
  .default(null)
  .meta({ description: 'Webhook receiver; null polls only' });

const rules = z
  .strictObject({
    sources: z.array(sourceName).optional().meta({ description: 'Only changes of these sources' }),
    kinds: z
      .array(z.enum(['added', 'changed', 'removed']))
      .min(1)
      .optional()
      .meta({ description: 'Only these kinds of change' }),
    fields: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .meta({ description: 'Of the changes, only those that touch one of these columns' }),
    statuses: z.array(z.string().min(1)).min(1).optional().meta({
      description: 'Only records whose status is one of these, before the change or after it',
    }),
    minCommittedCents: z.int().min(0).optional().meta({
      description: 'Cents; only records that committed at least this much before or after',
    }),
  })
  .prefault({})
  .meta({ description: 'What to tell; all that is given must hold, nothing given tells everything' });

const noticeName = sourceName.meta({ description: 'Name of the receiver, unique; used in status and logs' });
const kindMeaning = 'How to tell: a Slack channel, a signed HTTP request or a local command';
const notice = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('slack').meta({ description: kindMeaning }),
      name: noticeName,
      webhookUrl: secretReference.meta({ ...secretMark, description: 'Incoming-webhook URL of the channel' }),
      rules,
    }),
    z.strictObject({
      kind: z.literal('http').meta({ description: kindMeaning }),
      name: noticeName,
      url: webAddress.meta({ description: 'Where to POST each notice' }),
      secret: secretReference.meta({ ...secretMark, description: 'Key that signs each notice' }),
      rules,
    }),
    z.strictObject({
      kind: z.literal('command').meta({ description: kindMeaning }),
      name: noticeName,
      command: z
        .array(z.string())
        .min(1)
        .meta({ description: 'Program and arguments; the notice arrives as JSON on stdin, without a shell' }),
      rules,
    }),
  ])
  .meta({ description: 'Somebody to tell about changes, in ids and amounts, never names' });

const consoleAuth = z
  .strictObject({
    token: secretReference.optional().meta({
      ...secretMark,
      description: 'Token that is typed to sign in, and sent by programs as a bearer token',
    }),
    user: z
      .string()
      .regex(/^[^:\p{Cc}]+$/u, 'a name without ":"')
      .optional()
      .meta({ description: 'Name for basic authentication, with password; instead of token' }),
    password: secretReference.optional().meta({
      ...secretMark,
      description: 'Password for basic authentication',
    }),
  })
  .nullable()
  .default(null)
  .meta({
    description:
      'Who may look: a token, or a user and password. Needed as soon as others can reach the console',
  });

const consoleSettings = z
  .strictObject({
    listen: listenAddress.default('127.0.0.1:8788').meta({
      description: 'Address and port of the dashboard, health and metrics; beyond loopback auth is needed',
    }),
    hosts: z
      .array(z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/, 'a host name without a port'))
      .default([])
      .meta({
        description: 'Names under which a proxy in front of it is reached; others are refused. Needs auth',
      }),
    auth: consoleAuth,
  })
  .nullable()
  .prefault({})
  .meta({
    description:
      'The dashboard, /livez, /readyz, /healthz, /status.json and /metrics; null switches them off',
  });

export const settingsSchema = z
  .strictObject({
    $schema: z.string().optional().meta({ description: 'Points editors at the schema; ignored otherwise' }),
    platform,
    database: databaseAddress.default('sqlite:./data/mirror.db').meta({
      description: 'The mirror: sqlite:PATH or postgres://USER@HOST:PORT/DATABASE',
    }),
    databasePassword: secretReference.optional().meta({
      ...secretMark,
      description: 'Password of the PostgreSQL user; PGPASSWORD and ~/.pgpass are asked without it',
    }),
    sources: z.array(source).min(1).meta({ description: 'What to mirror' }),
    sync,
    receiver,
    console: consoleSettings,
    identity: z.enum(['keep', 'drop']).default('keep').meta({
      description: 'Keep names and addresses when the token may read them, or drop them on arrival',
    }),
    forget: z
      .strictObject({
        ledger: z.string().min(1).default('credentials/forgotten.jsonl').meta({
          description:
            'Whom `rosterd forget` erased, by id, apart from the database: a restored old copy brings nobody back',
        }),
      })
      .prefault({})
      .meta({ description: 'People who stay forgotten' }),
    history: z
      .strictObject({
        keepDays: z.int().min(1).max(36_500).nullable().default(null).meta({
          description:
            'Days a superseded version is kept; null keeps all, so that as-of reaches back to the start',
        }),
      })
      .prefault({})
      .meta({ description: 'Superseded versions' }),
    notices: z.array(notice).default([]).meta({ description: 'Who is told about changes' }),
    log: z
      .strictObject({
        level: z.enum(['debug', 'info', 'warn', 'error']).default('info').meta({
          description: 'Least severe line written; debug adds retries and stack traces',
        }),
        format: z.enum(['auto', 'pretty', 'json']).default('auto').meta({
          description: 'auto is readable on a terminal and JSON lines elsewhere',
        }),
      })
      .prefault({})
      .meta({ description: 'The log, on stderr' }),
  })
  .meta({ title: 'rosterd configuration' });

/** Before the first source is there. */
export const draftSchema = settingsSchema.extend({ sources: z.array(source).default([]) });

export type Settings = z.output<typeof settingsSchema>;

/** Keys that look right and are refused for a reason worth telling; by the path without indices. */
export const refusedKeys: Readonly<Record<string, string>> = {
  'sources.filters.status':
    'the platform filters by status in plain listings only and refuses it with a cursor, so a mirror cannot follow it; filter when you query: SELECT * FROM investments WHERE status = …',
  'sources.filters.updatedSince': 'the mirror keeps its own place in the feed',
  'sources.filters.cursor': 'the mirror keeps its own place in the feed',
  'sources.filters.perPage': 'this is sync.perPage',
};
