import type { Outline } from '../command.js';

/** In the order of the help. Generated from the commands: see CONTRIBUTING.md. */
export const outlines: readonly Outline[] = [
  {
    name: 'demo',
    summary: 'Try rosterd: a made-up platform and the daemon in one process',
  },
  {
    name: 'init',
    summary: 'Write a config.json from answers or flags, and check it',
  },
  {
    name: 'run',
    summary: 'Run the daemon in the foreground until a signal stops it',
  },
  {
    name: 'sync',
    summary: 'Bring each source up to date once, then exit',
  },
  {
    name: 'pause',
    summary: 'Stop syncing sources until resume; webhooks are still accepted',
  },
  {
    name: 'resume',
    summary: 'Sync paused sources again',
  },
  {
    name: 'sources list',
    summary: 'List sources, the worst first, and count them by state',
    args: [
      {
        name: '[text]',
        summary: 'part of a name, of the company, or of an id',
      },
    ],
  },
  {
    name: 'sources show',
    summary: 'Show one source: what it mirrors, its state and why, its last ticks',
    args: [
      {
        name: '<name>',
        summary: 'the name of the source',
      },
    ],
  },
  {
    name: 'sources pause',
    summary: 'Stop syncing sources by name until resume; webhooks are still accepted',
    args: [
      {
        name: '[names...]',
        summary: 'the names of the sources',
      },
    ],
  },
  {
    name: 'sources resume',
    summary: 'Sync paused sources again, by name',
    args: [
      {
        name: '[names...]',
        summary: 'the names of the sources',
      },
    ],
  },
  {
    name: 'sources forget',
    summary: 'Stop a source and erase everything stored of it',
    args: [
      {
        name: '<name>',
        summary: 'the name of the source; not one that config.json lists',
      },
    ],
  },
  {
    name: 'sources follow',
    summary: 'Follow a forgotten source again',
    args: [
      {
        name: '<name>',
        summary: 'the name of a source that `sources forget` erased',
      },
    ],
  },
  {
    name: 'status',
    summary: 'Show the state of every source',
  },
  {
    name: 'runs',
    summary: 'List the last ticks: when, why, what they changed and how they ended',
  },
  {
    name: 'wait',
    summary: 'Wait until the mirror is fresh: for cron jobs and notebooks',
  },
  {
    name: 'doctor',
    summary: 'Diagnose problems and print the command that fixes each; changes nothing',
  },
  {
    name: 'support-bundle',
    summary: 'Write what helps to find a problem into one file, without names and secrets',
    args: [
      {
        name: '[file]',
        summary: 'file to write, mode 0600 (default: rosterd-support-TIME.json)',
      },
    ],
  },
  {
    name: 'verify',
    summary: 'Check that the mirror equals the platform, and list every difference',
  },
  {
    name: 'query',
    summary: 'Run one read-only SQL statement on the mirror',
    args: [
      {
        name: '<sql>',
        summary: 'one SELECT, or - to read it from stdin',
      },
    ],
  },
  {
    name: 'mcp',
    summary: 'Let an AI assistant read the mirror, over the Model Context Protocol',
  },
  {
    name: 'export',
    summary: 'Write the investments, or other tables, to files or to stdout',
  },
  {
    name: 'lake sync',
    summary: 'Bring a folder of Parquet files to the state of the mirror',
    args: [
      {
        name: '<dir>',
        summary: 'folder of the lake, mode 0700; created if there is none',
      },
    ],
  },
  {
    name: 'lake check',
    summary: 'Compare every file of a lake with its size and checksum',
    args: [
      {
        name: '<dir>',
        summary: 'folder of the lake',
      },
    ],
  },
  {
    name: 'lake sql',
    summary: 'Print the statements that show a lake as views in DuckDB',
    args: [
      {
        name: '<dir>',
        summary: 'folder of the lake',
      },
    ],
  },
  {
    name: 'changes',
    summary: 'List the changes of the mirror in commit order',
  },
  {
    name: 'history',
    summary: 'Every version of one investment, newest first',
    args: [
      {
        name: '<id>',
        summary: 'the id of an investment',
      },
    ],
  },
  {
    name: 'forget',
    summary: 'Erase the identity of an investor or investment, and suppress it from now on',
    args: [
      {
        name: '<id>',
        summary: 'inv_… or usr_…',
      },
    ],
  },
  {
    name: 'schema',
    summary: 'Show the schema version of the mirror and the pending migrations',
  },
  {
    name: 'migrate',
    summary: 'Copy a mirror from a SQLite file to PostgreSQL, without listing anything again',
  },
  {
    name: 'backup',
    summary: 'Write a verified backup of the mirror, while the daemon goes on working',
    args: [
      {
        name: '<file>',
        summary: 'file to write, mode 0600, or a folder; a missing folder is created',
      },
    ],
  },
  {
    name: 'restore',
    summary: 'Replace the mirror by a backup; forgotten people stay forgotten',
    args: [
      {
        name: '<file>',
        summary: 'a file that rosterd backup made',
      },
    ],
  },
  {
    name: 'connect',
    summary: 'Sign in to the platform, install on companies and store their tokens',
  },
  {
    name: 'vault status',
    summary: 'Count the secrets that rosterd keeps, by kind and by encryption key',
  },
  {
    name: 'vault rotate',
    summary: 'Encrypt every secret that rosterd keeps with the first of vault.keys',
  },
  {
    name: 'vault remove',
    summary: 'Delete one secret that rosterd keeps, such as one that does not decrypt',
    args: [
      {
        name: '<entry>',
        summary: 'sign-in/NAME, installation/ID or endpoint/MODE',
      },
    ],
  },
  {
    name: 'endpoints list',
    summary: 'List webhook endpoints and their state',
  },
  {
    name: 'endpoints show',
    summary: 'Show one webhook endpoint',
    args: [
      {
        name: '<id>',
        summary: 'the endpoint, whe_…',
      },
    ],
  },
  {
    name: 'endpoints create',
    summary: 'Create a webhook endpoint; its signing secret is shown only once',
    args: [
      {
        name: '<url>',
        summary: 'public https address of the receiver',
      },
    ],
  },
  {
    name: 'endpoints update',
    summary: 'Change the address or the events of a webhook endpoint',
    args: [
      {
        name: '<id>',
        summary: 'the endpoint, whe_…',
      },
    ],
  },
  {
    name: 'endpoints rotate',
    summary: 'Rotate the signing secret of a webhook endpoint; the old one stays valid for 24 hours',
    args: [
      {
        name: '<id>',
        summary: 'the endpoint, whe_…',
      },
    ],
  },
  {
    name: 'endpoints test',
    summary: 'Make the platform send a signed test event; exit 1 when it is not delivered',
    args: [
      {
        name: '<id>',
        summary: 'the endpoint, whe_…',
      },
    ],
  },
  {
    name: 'endpoints deliveries',
    summary: 'List webhook deliveries of a sandbox; of a real platform, the last of each endpoint',
    args: [
      {
        name: '[id]',
        summary: 'the endpoint, whe_… (default: all)',
      },
    ],
  },
  {
    name: 'endpoints resend',
    summary: 'Make a sandbox resend a delivery; exit 1 when it is not delivered',
    args: [
      {
        name: '<delivery>',
        summary: 'the delivery, dlv_…, as `rosterd endpoints deliveries` lists it',
      },
    ],
  },
  {
    name: 'endpoints reenable',
    summary: 'Enable a disabled webhook endpoint again',
    args: [
      {
        name: '<id>',
        summary: 'the endpoint, whe_…',
      },
    ],
  },
  {
    name: 'endpoints delete',
    summary: 'Delete a webhook endpoint and its undelivered events',
    args: [
      {
        name: '<id>',
        summary: 'the endpoint, whe_…',
      },
    ],
  },
  {
    name: 'service install',
    summary: 'Install the systemd unit with the paths of this installation; starts nothing',
  },
  {
    name: 'sandbox',
    summary: 'Run a simulated platform with seeded data, a movable clock and scripted faults',
  },
  {
    name: 'trigger',
    summary: 'Trigger an event in a running sandbox',
    args: [
      {
        name: '<event>',
        summary:
          'investment.created, .changed, .canceled or .withdrawn; churn, clock, deactivate, revoke, reset',
      },
      {
        name: '[id]',
        summary: 'the investment, user or installation it happens to',
      },
    ],
  },
  {
    name: 'listen',
    summary: 'Forward webhooks to an address of this machine, and show each',
  },
  {
    name: 'config validate',
    summary: 'Check the configuration and report every problem at once',
  },
  {
    name: 'config show',
    summary: 'Print every effective value and where it comes from; secrets stay hidden',
  },
  {
    name: 'config schema',
    summary: 'Print the JSON Schema of the configuration, for editors',
  },
  {
    name: 'completion',
    summary: 'Print the completion script of a shell',
    args: [
      {
        name: '<shell>',
        summary: 'bash, zsh or fish',
      },
    ],
  },
  {
    name: 'version',
    summary: 'Print the versions of rosterd, Node and the supported API',
  },
];
