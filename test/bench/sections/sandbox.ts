import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { request } from 'undici';
import type { ReadyDocument } from '../../../src/platform/sandbox/document.js';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { compiledScript } from '../../support/compiled-script.js';
import { commandLine, compiled } from '../compiled.js';
import { type Measure, measure, type Scale, type Section, times } from '../measures.js';
import type { Use } from '../report-use.js';

export const sandbox: Section = {
  name: 'sandbox',
  each: false,
  says:
    'The command `rosterd sandbox` with many companies, in memory, without limits: until it is ready; what a manager of the ' +
    'application waits for; and every installation revoked and made again, each by one control call, with an app-wide ' +
    'webhook endpoint. Measured once, whatever the rounds.',
  measure: async (scale) => {
    const parts = new Lifecycle();
    try {
      return await measured(scale, parts);
    } finally {
      await parts.close();
    }
  },
};

async function measured(scale: Scale, parts: Lifecycle): Promise<readonly Measure[]> {
  const { companies, records } = scale.sandbox;
  const began = performance.now();
  const { child, line } = await started(scale, parts);
  const seconds = (performance.now() - began) / 1000;
  const atReady = await useOf(child);
  const ready = JSON.parse(line) as ReadyDocument;
  const manager = { authorization: `Bearer ${ready.users[0]?.token}` };
  const lists: number[] = [];
  let bytes = 0;
  for (const _ of times(5))
    lists.push(
      await timed(async () => {
        bytes = (await ask('GET', `${ready.baseUrl}/installations`, manager)).length;
      }),
    );
  const mints: number[] = [];
  for (const { installation } of ready.companies.slice(0, 20))
    mints.push(
      await timed(() => ask('POST', `${ready.baseUrl}/installations/${installation}/tokens`, manager)),
    );
  const receiver = await startReceiver(parts);
  const control = (path: string, body: unknown) => ask('POST', `${ready.control}${path}`, {}, body);
  await control('/webhooks', { url: receiver.url, events: ['installation.created'] });
  const before = await useOf(child);
  const revoked = await timed(() => control('/installations/revoke', { all: true }));
  const between = await useOf(child);
  const all = receiver.count(companies);
  const installedAt = performance.now();
  const installed = await timed(() => control('/installations', { all: true }));
  const after = await useOf(child);
  await all;
  const delivered = performance.now() - installedAt;
  const atEnd = await useOf(child);
  const many = companies.toLocaleString('en-US');
  const about = `${many} companies with ${records} investments each`;
  return [
    measure(`ready, ${about}`, 's', [seconds], { most: 60 }),
    measure('processor time until ready', 's', [atReady.cpuSeconds]),
    measure('most memory until ready', 'MB', [atReady.peakMegabytes], { most: 1900 }),
    measure('ready document', 'MB', [line.length / 1e6]),
    measure(`a manager’s list of ${many} installations`, 'ms', lists),
    measure('size of the list', 'MB', [bytes / 1e6]),
    measure('a token minted by a manager', 'ms', mints),
    measure(`${many} installations revoked by one call`, 's', [revoked / 1000]),
    measure('processor time of that', 's', [between.cpuSeconds - before.cpuSeconds]),
    measure(`${many} installations made by one call`, 's', [installed / 1000]),
    measure('processor time until that answer', 's', [after.cpuSeconds - between.cpuSeconds]),
    measure('the last of their deliveries, after the call began', 's', [delivered / 1000]),
    measure('most memory at the end', 'MB', [atEnd.peakMegabytes]),
  ];
}

async function started(
  { apart, sandbox: { companies, records } }: Scale,
  parts: Lifecycle,
): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const script = 'test/bench/report-use.ts';
  const preload = apart ? compiled(script) : await compiledScript(join(packageRoot, script));
  const size = ['--companies', String(companies), '--records', String(records), '--limits', 'off'];
  const args = ['--import', preload, commandLine(apart), 'sandbox', ...size];
  const child = spawn(process.execPath, args, {
    cwd: packageRoot,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  parts.add('sandbox', async () => {
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
  });
  let said = '';
  let complained = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    complained += part;
  });
  const line = new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the sandbox ended with ${code}: ${complained}`)));
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      said += part;
      if (said.endsWith('\n')) resolve(said);
    });
  });
  return { child, line: await line };
}

async function useOf(child: ChildProcess): Promise<Use> {
  child.send('use');
  const [use] = (await once(child, 'message')) as [Use];
  return use;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function ask(
  method: 'GET' | 'POST',
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<string> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await request(url, {
    method,
    headers: { ...headers, ...json },
    body: body === undefined ? null : JSON.stringify(body),
    headersTimeout: 0,
  });
  const text = await response.body.text();
  if (response.statusCode >= 300)
    throw new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 500)}`);
  return text;
}

/** Answers every delivery with 204. `count` resolves when that many have arrived. */
async function startReceiver(
  parts: Lifecycle,
): Promise<{ readonly url: string; count(wanted: number): Promise<void> }> {
  let arrived = 0;
  let look = () => {};
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', () => {
      response.writeHead(204).end();
      arrived += 1;
      look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  parts.add('receiver', async () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    count: (wanted) =>
      new Promise((resolve) => {
        look = () => {
          if (arrived >= wanted) resolve();
        };
        look();
      }),
  };
}
