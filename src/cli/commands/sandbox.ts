import type { parseListen } from '../../config/values.js';
import { Fault } from '../../domain/fault.js';
import type { SandboxOptions } from '../../tasks/sandbox.js';
import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { Options } from '../options.js';
import { untilAborted } from '../until-aborted.js';

export const sandbox: Command = {
  name: 'sandbox',
  summary: 'Run a simulated platform with seeded data, a movable clock and scripted faults',
  examples: [
    ['rosterd sandbox --listen 127.0.0.1:4010', 'prints one JSON line when it is ready'],
    ['rosterd sandbox --records 5000 --companies 3 --seed 7', 'the same data every time'],
  ],
  options: [
    { flags: '--listen <host:port>', summary: 'where to listen (default: 127.0.0.1:0, a free port)' },
    { flags: '--data <file>', summary: 'keep the data in this file (default: :memory:)' },
    { flags: '--seed <number>', summary: 'seed of the made-up data (default: 1)' },
    { flags: '--companies <number>', summary: 'number of companies (default: 3)' },
    { flags: '--records <number>', summary: 'investments per company (default: 1000)' },
    { flags: '--header-prefix <word>', summary: 'first word of its headers (default: Service)' },
    { flags: '--limits <switch>', summary: 'rate limits (default: on)', choices: ['on', 'off'] },
  ],
  async run({ options, out, signal }) {
    const [{ openSandbox }, values] = await Promise.all([
      import('../../tasks/sandbox.js'),
      import('../../config/values.js'),
    ]);
    const running = await openSandbox(sandboxOptions(options, values.parseListen));
    // Always one line, even at a terminal: programs wait for it.
    out.styled(JSON.stringify(running.ready));
    await untilAborted(signal);
    await running.close();
    return exitCodes.done;
  },
};

function sandboxOptions(options: Options, parse: typeof parseListen): SandboxOptions {
  const listenText = options.text('listen');
  const listen = parse(listenText ?? '127.0.0.1:0');
  if (listen === undefined) {
    throw new Fault('usage', `--listen is ${JSON.stringify(listenText)}`, {
      hint: 'HOST:PORT, such as 127.0.0.1:4010',
    });
  }
  const data = options.text('data');
  const prefix = options.text('headerPrefix');
  if (prefix !== undefined && !/^[A-Za-z][A-Za-z0-9-]*$/.test(prefix)) {
    throw new Fault('usage', `--header-prefix is ${JSON.stringify(prefix)}`, {
      hint: 'letters, digits and -, such as Service',
    });
  }
  const seed = options.whole('seed', { min: 0, max: 2 ** 32 - 1 });
  const companies = options.whole('companies', { min: 1, max: 1_000 });
  const records = options.whole('records', { min: 0, max: 10_000_000 });
  return {
    listen,
    limits: options.text('limits') !== 'off',
    ...(data === undefined || data === ':memory:' ? {} : { dataFile: data }),
    ...(seed === undefined ? {} : { seed }),
    ...(companies === undefined ? {} : { companies }),
    ...(records === undefined ? {} : { records }),
    ...(prefix === undefined ? {} : { headerPrefix: prefix }),
  };
}
