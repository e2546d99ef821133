import { z } from 'zod';
import { type EventName, eventNames, mirrorEvents } from '../wire/events.js';
import { defaultHeaderPrefix, defaultRequestIdHeader } from '../wire/headers.js';
import { perPage, rateLimits } from '../wire/limits.js';
import { latestVersion, versions } from '../wire/versions.js';
import { credentials, token } from './access-settings.js';
import { consoleSettings } from './console-settings.js';
import { exportTables, scheduledFormats } from './export-tables.js';
import { formats } from './formats.js';
import { afterSync, notice } from './message-settings.js';
import { source } from './source-settings.js';
import {
  databaseAddress,
  headerToken,
  listenAddress,
  period,
  secretMark,
  secretReference,
  timeOfDay,
  timeZone,
  webAddress,
} from './values.js';

/**
 * Every option with its default, unit and description. The JSON Schema, the table of options, the names of the
 * environment variables and `config show` are all derived from these declarations.
 */

const application = z
  .strictObject({
    clientId: z.string().min(1).meta({ description: 'Publishable key of the application, pk_…' }),
    clientSecret: secretReference.optional().meta({
      ...secretMark,
      description: 'Secret key of the application; omit it for a public client',
    }),
    redirectUri: z
      .string()
      .refine(formats['redirect-uri'], 'a URL such as http://127.0.0.1/callback')
      .meta({ format: 'redirect-uri' })
      .default('http://127.0.0.1/callback')
      .meta({
        description: 'Registered redirect URI; 127.0.0.1 without a port uses any free port, as in RFC 8252',
      }),
    authorizeUrl: webAddress.optional().meta({
      description: 'Address of the consent page, if it is not at the default path of platform.baseUrl',
    }),
  })
  .optional()
  .meta({ description: 'The application `rosterd connect` signs in with' });

const management = z
  .strictObject({
    token: token.meta({
      ...secretMark,
      description: 'Access token with the scope write:webhooks. Set this or credentials',
    }),
    credentials: credentials.meta({
      description: 'Sign-in made with `rosterd connect --management`, refreshed at each use',
    }),
  })
  .optional()
  .meta({
    description: 'Account that manages webhook endpoints, for `rosterd endpoints` and receiver.endpoint',
  });

const platform = z
  .strictObject({
    baseUrl: webAddress.meta({ description: 'Address of the API, without a path' }),
    version: z.enum(versions).default(latestVersion).meta({
      description: 'API version sent with every request; changes only when you change it',
    }),
    headerPrefix: headerToken.default(defaultHeaderPrefix).meta({
      description: "First word of the platform's own headers, as in Service-Version and Service-Signature",
    }),
    requestIdHeader: headerToken.default(defaultRequestIdHeader).meta({
      description: "Response header with the request id, which the platform's support asks for",
    }),
    ca: z.string().min(1).optional().meta({
      description: 'PEM file of a private certificate authority, trusted in addition to the public ones',
    }),
    requestsPerHour: z.int().min(10).nullable().default(rateLimits.token.limit).meta({
      description: 'Hourly request quota of a token, shared by all its clients; null for no quota',
    }),
    timeouts: z
      .strictObject({
        connectSeconds: z.number().min(0.1).max(300).default(10).meta({
          description: 'Timeout in seconds for connecting to the platform',
        }),
        requestSeconds: z.number().min(0.1).max(600).default(60).meta({
          description: 'Timeout in seconds for one request with its complete response',
        }),
      })
      .prefault({})
      .meta({ description: 'Timeouts of requests to the platform' }),
    publishableKey: z
      .string()
      .regex(/^pk_(?:live|test)_[\x21-\x7e]+$/, 'a publishable key, pk_…')
      .optional()
      .meta({
        description:
          "Client id of the application, pk_…: reads public companies and rounds where a source's token may not",
      }),
    application,
    management,
  })
  .meta({ description: 'The API to mirror' });

const vault = z
  .strictObject({
    folder: z.string().min(1).default('credentials/vault').meta({
      description:
        'Folder for these secrets, a file of mode 0600 each, while there are no keys; created with mode 0700',
    }),
    keys: z
      .array(secretReference)
      .max(10)
      .default([])
      .meta({
        ...secretMark,
        description:
          'Keys that encrypt these secrets in PostgreSQL, where every host can use them. The first encrypts, all decrypt: list two during a rotation. 32 bytes each, as base64 or hexadecimal; `openssl rand -base64 32` makes one',
      }),
  })
  .prefault({})
  .meta({
    description: 'Secrets that rosterd writes itself: rotating sign-ins and signing secrets of its endpoint',
  });

const sync = z
  .strictObject({
    intervalSeconds: z.int().min(1).max(86_400).default(60).meta({
      description: "Seconds between ticks; 60 uses 60 requests an hour of the token's quota of 1,000",
    }),
    idleIntervalSeconds: z.int().min(1).max(86_400).default(180).meta({
      description: 'Seconds between ticks while webhooks announce every change, if above intervalSeconds',
    }),
    catalogIntervalSeconds: z.int().min(300).max(2_592_000).nullable().default(86_400).meta({
      description:
        'Seconds between listings of companies, rounds, their numbers and posts; events and unknown rounds list them sooner. null disables them',
    }),
    perPage: z.int().min(1).max(perPage.max).default(perPage.max).meta({
      description: "Records per page; the default is the API's maximum, because the quota counts requests",
    }),
    concurrency: z.int().min(1).max(32).default(4).meta({
      description: 'Number of sources synced at the same time; each source reads its pages in order',
    }),
    quietHours: z
      .strictObject({
        from: timeOfDay.meta({ description: 'When the quiet hours begin each day, such as 08:00' }),
        to: timeOfDay.meta({ description: 'When they end; earlier than `from` means on the next day' }),
        timeZone: timeZone.default('UTC').meta({ description: 'Time zone of both, such as Europe/Berlin' }),
      })
      .nullable()
      .default(null)
      .meta({
        description:
          'Hours in which no listing is read, to leave the quota to other programs. Changes are still followed, except for a source whose listing is not complete: it receives nothing until the hours end. `rosterd sync` ignores them; null for none',
      }),
    brake: z
      .strictObject({
        share: z.number().min(0).max(1).default(0.2).meta({
          description:
            'Share of the stored rows, 0 to 1, that a re-listing may delete without approval. If more are missing, they all await deletion',
        }),
        rows: z.int().min(0).default(50).meta({
          description: 'Number of missing rows up to which deletions need no approval, whatever the share',
        }),
      })
      .prefault({})
      .meta({
        description:
          'When a re-listing lacks more rows than both limits, it is published without its deletions, which a person must accept',
      }),
  })
  .prefault({})
  .meta({ description: 'How often and how fast to sync' });

const endpoint = z
  .strictObject({
    publicUrl: webAddress.meta({
      description: 'Address at which the platform reaches this receiver, including the path',
    }),
    mode: z.enum(['live', 'test']).default('live').meta({
      description:
        'Realm of the events: live accounts or the sandbox realm. A change leaves the endpoint of the former realm on the platform; `rosterd doctor` names it with the command that deletes it',
    }),
    events: z
      .array(z.enum(eventNames as readonly [EventName, ...EventName[]]))
      .min(1)
      .default([...mirrorEvents])
      .meta({
        description:
          'Events to subscribe to: changes of investments, and the lifecycle of rounds, so that a round that changed is listed at once',
      }),
    file: z.string().min(1).default('credentials/endpoint.json').meta({
      description:
        'File in which the daemon stores the signing secrets; created with mode 0600. With vault.keys they are in the vault, which takes over the file at the first start',
    }),
    checkSeconds: z.int().min(10).max(86_400).default(300).meta({
      description: 'Seconds between checks of the endpoint; 300 uses 12 of the 1,000 requests an hour',
    }),
    rotateDays: z.int().min(1).max(3_650).nullable().default(90).meta({
      description:
        'Days between rotations of the signing secret; the old secret stays valid for one more day. null disables rotation',
    }),
  })
  .nullable()
  .default(null)
  .meta({
    description: 'Webhook endpoint that the daemon creates and manages; needs platform.management',
  });

const receiver = z
  .strictObject({
    listen: listenAddress.default('127.0.0.1:8787').meta({
      description: 'Address and port for webhooks; loopback, because it needs a TLS proxy in front',
    }),
    path: z
      .string()
      .regex(/^\/[A-Za-z0-9/_.-]*$/, 'a path such as /webhooks')
      .refine(formats['receiver-path'], 'another path: /healthz is reserved')
      .meta({ format: 'receiver-path' })
      .default('/webhooks')
      .meta({ description: 'Path the platform sends webhooks to' }),
    secrets: z
      .array(secretReference)
      .max(10)
      .default([])
      .meta({
        ...secretMark,
        description:
          'Signing secrets; a signature of any of them is valid, so list both during a rotation. Required unless endpoint is set',
      }),
    endpoint,
    maxConnections: z.int().min(1).max(10_000).default(2_048).meta({
      description:
        'Maximum number of open connections; beyond it, a new connection replaces the one that has waited longest without a delivery',
    }),
    maxConnectionsPerAddress: z.int().min(1).max(10_000).nullable().default(null).meta({
      description:
        'When maxConnections is reached, maximum number of waiting connections from one address that has not sent a valid delivery; null means half of maxConnections. Behind a proxy, where all senders share one address, set it to maxConnections',
    }),
  })
  .nullable()
  .default(null)
  .meta({ description: 'Webhook receiver; null disables it, and rosterd only polls' });

export const settingsSchema = z
  .strictObject({
    $schema: z.string().optional().meta({ description: 'JSON Schema for editors; otherwise ignored' }),
    platform,
    database: databaseAddress.default('sqlite:./data/mirror.db').meta({
      description: 'Database of the mirror: sqlite:PATH or postgres://USER@HOST:PORT/DATABASE',
    }),
    databasePassword: secretReference.optional().meta({
      ...secretMark,
      description: 'Password of the PostgreSQL user; without it, PGPASSWORD or ~/.pgpass is used',
    }),
    sources: z
      .array(source)
      .min(1)
      .meta({ description: 'What to mirror: sources, and rules that create sources' }),
    vault,
    sync,
    receiver,
    console: consoleSettings,
    identity: z.enum(['keep', 'drop']).default('keep').meta({
      description: 'keep stores names and addresses if the token can read them; drop never stores them',
    }),
    forget: z
      .strictObject({
        ledger: z.string().min(1).default('credentials/forgotten.jsonl').meta({
          description:
            'File with the ids that `rosterd forget` erased, stored outside the database so that restoring a backup erases them again',
        }),
      })
      .prefault({})
      .meta({ description: 'Erased identities' }),
    history: z
      .strictObject({
        keepDays: z.int().min(1).max(36_500).nullable().default(null).meta({
          description:
            'Days to keep superseded versions; null keeps all, so that --as-of works back to the start',
        }),
      })
      .prefault({})
      .meta({ description: 'Superseded versions' }),
    backup: z
      .strictObject({
        every: period.nullable().default(null).meta({
          description: 'Time between backups that the daemon makes, such as 6h or 1d; null makes none',
        }),
        keep: z.int().min(1).max(1_000).default(7).meta({
          description: 'Number of these backups to keep; older ones are deleted after each new one',
        }),
        folder: z.string().min(1).default('backups').meta({
          description: 'Folder for these backups, created with mode 0700; better on another disk',
        }),
      })
      .prefault({})
      .meta({ description: 'Backups on a schedule' }),
    exports: z
      .strictObject({
        every: period.nullable().default(null).meta({
          description: 'Time between exports that the daemon makes, such as 6h or 1d; null makes none',
        }),
        keep: z.int().min(1).max(1_000).default(7).meta({
          description: 'Number of these exports to keep; older ones are deleted after each new one',
        }),
        folder: z.string().min(1).default('exports').meta({
          description:
            'Folder for these exports, created with mode 0700; each is a folder in it, named by its time',
        }),
        format: z.enum(scheduledFormats).default('csv').meta({ description: 'Format of the files' }),
        tables: z
          .array(z.enum(exportTables))
          .min(1)
          .default(['investments'])
          .meta({ description: 'Tables and views to export, one file each' }),
        identity: z.boolean().default(false).meta({
          description: 'Whether the files may contain names, emails, addresses and messages',
        }),
      })
      .prefault({})
      .meta({ description: 'Exports to a folder on a schedule' }),
    lake: z
      .strictObject({
        every: period.nullable().default(null).meta({
          description:
            'Time between runs of `rosterd lake sync` in the daemon, such as 15m or 1d; null makes none',
        }),
        keep: z.int().min(2).max(100_000).default(100).meta({
          description: 'Number of snapshots to keep',
        }),
        folder: z.string().min(1).default('lake').meta({
          description:
            'Folder of the lake, created with mode 0700. `rosterd forget` erases people in it, too',
        }),
        identity: z.boolean().default(false).meta({
          description: 'Whether the lake contains names, emails, addresses and messages',
        }),
      })
      .prefault({})
      .meta({ description: 'Parquet files that follow the mirror' }),
    alerts: z
      .strictObject({
        failingMinutes: z.int().min(1).max(1_440).default(15).meta({
          description: 'Minutes that a source may fail before an alert is sent',
        }),
        diskFreeMegabytes: z.int().min(0).default(1_024).meta({
          description: 'Free megabytes beside a SQLite file below which an alert is sent',
        }),
      })
      .prefault({})
      .meta({ description: 'When to send alerts to the receivers in notices that want them' }),
    notices: z.array(notice).default([]).meta({ description: 'Receivers of change notices' }),
    afterSync: z
      .array(afterSync)
      .default([])
      .meta({ description: 'Hooks that run after a sync that changed rows' }),
    log: z
      .strictObject({
        level: z.enum(['debug', 'info', 'warn', 'error']).default('info').meta({
          description: 'Lowest severity to log; debug adds retries and stack traces',
        }),
        format: z.enum(['auto', 'pretty', 'json']).default('auto').meta({
          description: 'Log format; auto is pretty on a terminal and JSON lines elsewhere',
        }),
      })
      .prefault({})
      .meta({ description: 'The log, on stderr' }),
  })
  .meta({ title: 'rosterd configuration' });

/** Accepts a configuration without sources, before the first one is added. */
export const draftSchema = settingsSchema.extend({ sources: z.array(source).default([]) });

export type Settings = z.output<typeof settingsSchema>;

/** Plausible keys that are rejected for a reason worth printing; by the path without indices. */
export const refusedKeys: Readonly<Record<string, string>> = {
  'sources.filters.status':
    'the platform rejects a status filter together with a cursor, so a mirror cannot use it; filter in the query: SELECT * FROM investments WHERE status = …',
  'sources.filters.updatedSince': 'the mirror keeps its own cursor',
  'sources.filters.cursor': 'the mirror keeps its own cursor',
  'sources.filters.perPage': 'set sync.perPage instead',
  'sources.overrides.token': 'the token of a followed source is minted, not configured',
};
