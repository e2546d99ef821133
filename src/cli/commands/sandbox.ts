import { resolve } from 'node:path';
import type { parseListen } from '../../config/formats.js';
import { defined } from '../../domain/defined.js';
import { Fault } from '../../domain/fault.js';
import type { SandboxOptions } from '../../tasks/sandbox.js';
import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { given, type Options } from '../options.js';
import { untilAborted } from '../until-aborted.js';

export const sandbox: Command = {
  name: 'sandbox',
  summary: 'Run a simulated platform with seeded data, a movable clock and scripted faults',
  examples: [
    [
      'rosterd sandbox --listen 127.0.0.1:4010',
      'prints one JSON line when it is ready; open the address in a browser',
    ],
    ['rosterd sandbox --records 5000 --companies 3 --seed 7', 'the same data every time'],
    [
      'rosterd sandbox --companies 1000 --records 20 --installed 0.8',
      'many companies, of which a fifth can install the application later',
    ],
    [
      'rosterd sandbox --import world.jsonl --data world.db --limits off',
      'a world of your own, for load tests',
    ],
  ],
  options: [
    { flags: '--listen <host:port>', summary: 'where to listen (default: 127.0.0.1:0, a free port)' },
    { flags: '--data <file>', summary: 'keep the data in this file (default: :memory:)' },
    { flags: '--seed <number>', summary: 'seed of the made-up data (default: 1)' },
    { flags: '--companies <number>', summary: 'number of companies (default: 2)' },
    { flags: '--records <number>', summary: 'investments per company (default: 100)' },
    {
      flags: '--installed <share>',
      summary: 'share of companies that installed the application (default: 1)',
    },
    {
      flags: '--import <file>',
      summary: 'add the companies, rounds and investments of a file of JSON Lines',
    },
    { flags: '--header-prefix <word>', summary: 'first word of its headers (default: Service)' },
    {
      flags: '--request-id-header <name>',
      summary: 'header with the request id (default: X-Service-Request-Id, whatever the prefix)',
    },
    {
      flags: '--allow-loopback-webhooks',
      summary: 'let the API create webhook endpoints on this machine, which the platform refuses',
    },
    { flags: '--limits <switch>', summary: 'rate limits (default: on)', choices: ['on', 'off'] },
  ],
  async run({ io, options, out, signal, blocking }) {
    const [{ openSandbox }, values, { createLogger }] = await Promise.all([
      import('../../tasks/sandbox.js'),
      import('../../config/formats.js'),
      import('../../daemon/logging.js'),
    ]);
    const { clock, stderr: stream } = io;
    const asked = sandboxOptions(options, io.cwd, values.parseListen);
    const open = async () =>
      signal.aborted
        ? null
        : await openSandbox({
            ...asked,
            logger: createLogger({ level: 'warn', format: 'auto', stream, color: false, clock }),
            onImport: (investments) => out.note(`${investments} investments imported so far`),
          });
    // Seeding blocks. A data file is completed first: one that is seeded in part cannot be used.
    const running = await (asked.dataFile === undefined ? blocking(open) : open());
    if (running === null) return exitCodes.done;
    // Always one line, even at a terminal: programs wait for it.
    out.styled(JSON.stringify(running.ready));
    await untilAborted(signal);
    await running.close();
    return exitCodes.done;
  },
};

function sandboxOptions(options: Options, cwd: string, parse: typeof parseListen): SandboxOptions {
  const listenText = options.text('listen');
  const listen = parse(listenText ?? '127.0.0.1:0');
  if (listen === undefined) {
    throw new Fault('usage', `--listen is ${JSON.stringify(listenText)}`, {
      hint: 'HOST:PORT, such as 127.0.0.1:4010',
    });
  }
  const data = givenText(options, 'data');
  const headerPrefix = headerText(options, 'headerPrefix', '--header-prefix', 'Service');
  const requestIdHeader = headerText(
    options,
    'requestIdHeader',
    '--request-id-header',
    'X-Service-Request-Id',
  );
  const seed = options.whole('seed', { min: 0, max: 2 ** 32 - 1 });
  const companies = options.whole('companies', { min: 1, max: 10_000 });
  const imported = givenText(options, 'import');
  const records = options.whole('records', { min: 0, max: 10_000_000 });
  const installed = shareOf(options, 'installed');
  return {
    listen,
    limits: options.text('limits') !== 'off',
    ...(data === undefined || data === ':memory:' ? {} : { dataFile: data }),
    ...defined({ seed, companies, records, installed, headerPrefix, requestIdHeader }),
    // Absolute, because a data file stores it for a sandbox that is started in another folder.
    ...(imported === undefined ? {} : { importFile: resolve(cwd, imported) }),
    allowLoopbackWebhooks: options.flag('allowLoopbackWebhooks'),
  };
}

/** Throws `usage` for an empty text, which would mean the current folder. */
function givenText(options: Options, name: string): string | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : given(text, `--${name}`);
}

function shareOf(options: Options, name: string): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  const share = /^\d(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (share >= 0 && share <= 1) return share;
  throw new Fault('usage', `--${name} is ${JSON.stringify(text)}`, {
    hint: 'a share from 0 to 1, such as 0.8',
  });
}

function headerText(options: Options, name: string, flag: string, example: string): string | undefined {
  const text = options.text(name);
  if (text === undefined || /^[A-Za-z][A-Za-z0-9-]*$/.test(text)) return text;
  throw new Fault('usage', `${flag} is ${JSON.stringify(text)}`, {
    hint: `letters, digits and -, such as ${example}`,
  });
}
