import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { compiled } from '../compiled.js';
import type { Scale } from '../measures.js';
import { type OptionsOf, type PartName, type PartOf, parts } from './index.js';
import type { Order, Reply } from './messages.js';

interface Call {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Starts a part, in a process of its own when the scale says `apart`. `lifecycle` closes it. */
export async function startPart<Name extends PartName>(
  { apart }: Pick<Scale, 'apart'>,
  name: Name,
  options: OptionsOf<Name>,
  lifecycle: Lifecycle,
): Promise<PartOf<Name>> {
  const start = parts[name] as (options: OptionsOf<Name>) => Promise<PartOf<Name>>;
  const part = apart ? await inProcess<Name>(name, options, lifecycle) : await start(options);
  lifecycle.add(name, () => part.close());
  return part;
}

async function inProcess<Name extends PartName>(
  name: Name,
  options: object,
  lifecycle: Lifecycle,
): Promise<PartOf<Name>> {
  const child = fork(compiled('test/bench/parts/part.ts'), { execArgv: [], serialization: 'advanced' });
  const gone = once(child, 'exit');
  lifecycle.add(`process of the ${name}`, async () => {
    if (child.connected) child.disconnect();
    await gone;
  });
  const calls = new Map<number, Call>();
  let started: Call = { resolve: () => {}, reject: () => {} };
  const ready = new Promise((resolve, reject) => {
    started = { resolve, reject };
  });
  child.on('message', (reply: Reply) => {
    if ('started' in reply) return started.resolve(undefined);
    const call = reply.no === null ? started : calls.get(reply.no);
    if (reply.no !== null) calls.delete(reply.no);
    if ('problem' in reply) call?.reject(new Error(`the ${name} failed: ${reply.problem}`));
    else call?.resolve(reply.value);
  });
  child.once('exit', (code) => {
    const error = new Error(`the process of the ${name} ended with ${code}`);
    for (const call of [started, ...calls.values()]) call.reject(error);
  });
  const order = (message: Order) => child.send(message);
  order({ start: name, options });
  await ready;
  let no = 0;
  const methods = new Proxy({} as PartOf<Name>, {
    get: (_, method) => {
      // A promise that resolves with the proxy looks for `then`.
      if (typeof method !== 'string' || method === 'then') return undefined;
      return (...args: readonly unknown[]) =>
        new Promise((resolve, reject) => {
          no += 1;
          calls.set(no, { resolve, reject });
          order({ no, method, args });
        });
    },
  });
  return methods;
}
