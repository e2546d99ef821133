import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { Command } from '../../src/cli/command.js';
import type { Io, OutputStream } from '../../src/cli/io.js';
import { run } from '../../src/cli/run.js';

export interface FakeIo extends Io {
  readonly signals: EventEmitter;
  readonly quits: number[];
  out(): string;
  err(): string;
}

export function fakeIo(
  options: Partial<Io> & { readonly tty?: boolean; readonly columns?: number } = {},
): FakeIo {
  const { tty = false, columns = 80, ...io } = options;
  const stdout = collector(tty, columns);
  const stderr = collector(tty, columns);
  const signals = new EventEmitter();
  const quits: number[] = [];
  return {
    stdin: Readable.from([]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: {},
    cwd: '/',
    clock: { now: () => 0, monotonic: () => 0, wait: async () => {} },
    onSignal: (signal, listener) => {
      signals.on(signal, listener);
      return () => signals.off(signal, listener);
    },
    endsBySignals: true,
    quit: (code) => quits.push(code),
    signals,
    quits,
    out: stdout.text,
    err: stderr.text,
    ...io,
  };
}

/** Options of `fakeIo` for a command that SIGINT stops when it begins. */
export const stopped: Pick<Io, 'onSignal'> = {
  onSignal: (signal, listener) => {
    if (signal === 'SIGINT') queueMicrotask(listener);
    return () => {};
  },
};

export function collector(tty: boolean, columns: number): { stream: OutputStream; text: () => string } {
  let text = '';
  const sink = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream: Object.assign(sink, { isTTY: tty, columns }), text: () => text };
}

/** Returns a command for a test. */
export function commandOf(action: Command['run'], more: Partial<Command> = {}): Command {
  return { name: 'probe', summary: 'a probe', examples: [['rosterd probe', 'probes']], run: action, ...more };
}

export async function rosterd(args: readonly string[], io: FakeIo = fakeIo(), commands?: readonly Command[]) {
  const code = await run(args, io, commands);
  return { code, out: io.out(), err: io.err(), io };
}
