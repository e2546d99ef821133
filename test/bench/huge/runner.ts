import { type ChildProcess, fork, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { run } from '../../../src/cli/run.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { commandLine, compiled } from '../compiled.js';
import { Watch, type Watched } from './watch.js';
import { doWork, type Seconds, type WorkOrder } from './work.js';

/** What a step cost. */
export interface Cost extends Watched {
  readonly seconds: number;
}

/** Runs commands and other work: in processes of their own, or here for a test that only shows that each step works. */
export interface Runner {
  /** Runs a command to its end. Throws when its exit code is not among `codes` (default: 0). */
  command(args: readonly string[], codes?: readonly number[]): Promise<Cost>;
  /** Runs a command until its log contains `word` this many times, then stops it. Returns the cost up to that moment. */
  untilSaid(args: readonly string[], word: string, times: number): Promise<Cost>;
  work(order: WorkOrder): Promise<{ readonly seconds: Seconds; readonly cost: Cost }>;
}

export interface RunnerParts {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The folders whose size counts. */
  readonly folders: readonly string[];
  /** The process of a server that works for the commands. */
  readonly server: number | null;
}

export function apart({ cwd, env, folders, server }: RunnerParts): Runner {
  const all = { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...env };
  const watched = async <Result>(child: ChildProcess, work: () => Promise<Result>) => {
    const began = performance.now();
    const watch = new Watch(child.pid ?? 0, folders);
    const serving = server === null ? null : new Watch(server, [], true);
    const result = await work();
    const seconds = (performance.now() - began) / 1_000;
    return { result, cost: { seconds, ...together(watch.end(), serving?.end()) } };
  };
  const started = (args: readonly string[]) => {
    const child = spawn(process.execPath, [commandLine(true), ...args], {
      cwd,
      env: all,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
    return { child, ended: once(child, 'close') as Promise<[number]>, said: () => said };
  };
  return {
    command: async (args, codes = [0]) => {
      const { child, ended, said } = started(args);
      const { result, cost } = await watched(child, () => ended);
      if (!codes.includes(result[0]))
        throw new Error(`${args[0]} ended with ${result[0]}: ${said().slice(-2_000)}`);
      return cost;
    },
    untilSaid: async (args, word, times) => {
      const { child, ended, said } = started(args);
      const { cost } = await watched(child, async () => {
        const heard = new Promise<void>((resolve) => {
          child.stderr.on('data', () => {
            if (said().split(word).length > times) resolve();
          });
        });
        await Promise.race([heard, ended]);
      });
      const isRunning = child.exitCode === null && child.signalCode === null;
      child.kill('SIGTERM');
      await ended;
      if (!isRunning) throw new Error(`${args[0]} ended early: ${said().slice(-2_000)}`);
      return cost;
    },
    work: async (order) => {
      const child = fork(compiled('test/bench/huge/worker.ts'), { execArgv: [], cwd, env: all });
      child.send(order);
      const { result, cost } = await watched(
        child,
        () => Promise.race([once(child, 'message'), once(child, 'exit')]) as Promise<[Seconds | number]>,
      );
      if (typeof result[0] === 'number') throw new Error(`the work "${order.kind}" failed`);
      return { seconds: result[0], cost };
    },
  };
}

function together(one: Watched, other: Watched | undefined): Watched {
  if (other === undefined) return one;
  return {
    cpuSeconds: one.cpuSeconds + other.cpuSeconds,
    memory: { ...one.memory, ...other.memory },
    diskMegabytes: Math.max(one.diskMegabytes, other.diskMegabytes),
  };
}

/** In this process. Only the time is known. */
export function here({ cwd, env }: RunnerParts): Runner {
  const timed = async <Result>(work: () => Promise<Result>) => {
    const began = performance.now();
    const result = await work();
    const cost = {
      seconds: (performance.now() - began) / 1_000,
      cpuSeconds: 0,
      memory: {},
      diskMegabytes: 0,
    };
    return { result, cost };
  };
  const command = async (args: readonly string[], onSaid: (said: string, stop: () => void) => void) => {
    const signals = new EventEmitter();
    let said = '';
    const sink = (listen: boolean) =>
      new Writable({
        write(chunk, _, done) {
          if (listen) said += String(chunk);
          onSaid(said, () => signals.emit('SIGTERM'));
          done();
        },
      });
    const code = await run(args, {
      stdin: Readable.from([]),
      stdout: sink(false),
      stderr: sink(true),
      env,
      cwd,
      clock: systemClock,
      onSignal: (signal, listener) => {
        signals.on(signal, listener);
        return () => signals.off(signal, listener);
      },
      endsBySignals: true,
      quit: () => {},
    });
    return { code, said };
  };
  return {
    command: async (args, codes = [0]) => {
      const { result, cost } = await timed(() => command(args, () => {}));
      if (!codes.includes(result.code))
        throw new Error(`${args[0]} ended with ${result.code}: ${result.said}`);
      return cost;
    },
    untilSaid: async (args, word, times) => {
      let heard = false;
      const { result, cost } = await timed(() =>
        command(args, (said, stop) => {
          if (heard || said.split(word).length <= times) return;
          heard = true;
          stop();
        }),
      );
      if (!heard) throw new Error(`${args[0]} ended early: ${result.said}`);
      return cost;
    },
    work: async (order) => {
      const { result, cost } = await timed(() => doWork(order));
      return { seconds: result, cost };
    },
  };
}
