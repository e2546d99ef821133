import { CommanderError } from 'commander';
import { maskCredentials } from '../contract/credential-shapes.js';
import { Fault } from '../domain/fault.js';
import type { Command } from './command.js';
import { commands as allCommands } from './commands/index.js';
import { type ExitCode, exitCodeOfFault, exitCodes } from './exit-codes.js';
import type { Io } from './io.js';
import { Output } from './output/output.js';
import { programOf } from './program.js';

/** Parses, runs one command and says how it ended. Whatever goes wrong is told on stderr; nothing is thrown. */
export async function run(
  args: readonly string[],
  io: Io,
  commands: readonly Command[] = allCommands,
): Promise<ExitCode> {
  const out = new Output(io);
  const stop = new AbortController();
  const unlisten = listen(io, out, stop);
  let code: ExitCode = exitCodes.done;
  try {
    const program = programOf(commands, {
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      columns: io.stdout.columns ?? 80,
      run: async (command, given, options) => {
        code = await command.run({ io, out, args: given, options, signal: stop.signal });
      },
    });
    await program.parseAsync(spelledOut(args), { from: 'user' });
  } catch (error) {
    code = report(error, out, isDebugging(args));
  } finally {
    unlisten();
  }
  return stop.signal.reason === pipeClosed ? exitCodes.done : code;
}

/** Nobody reads the rest (`| head`): as good as done. */
const pipeClosed = 'the reader of our output has gone';

/** The first signal asks the command to finish what it is at, the second ends the process. */
function listen(io: Io, out: Output, stop: AbortController): () => void {
  const onSignal = () => {
    if (stop.signal.aborted) return io.quit(exitCodes.stopped);
    stop.abort('signal');
    out.note('finishing what is under way; once more to quit at once');
  };
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return stop.abort(pipeClosed);
    // A result that is cut short must not look whole.
    out.error(`the result could not be written (${error.code ?? 'unknown reason'})`);
    io.quit(exitCodes.failed);
  };
  const ignoreClosed = () => {};
  io.stdout.on('error', onOutputError);
  // With stderr gone there is nobody left to tell.
  io.stderr.on('error', ignoreClosed);
  const offs = [io.onSignal('SIGINT', onSignal), io.onSignal('SIGTERM', onSignal)];
  return () => {
    for (const off of offs) off();
  };
}

function report(error: unknown, out: Output, debugging: boolean): ExitCode {
  if (error instanceof CommanderError) return reportUsage(error, out);
  if (error instanceof Fault) {
    out.error(error.message);
    if (error.about.hint !== undefined) out.note(`Try: ${error.about.hint}`);
    return exitCodeOfFault[error.code];
  }
  out.error('rosterd met a state it does not expect; this is a bug, please report it');
  if (debugging)
    out.note(maskCredentials(error instanceof Error ? (error.stack ?? String(error)) : String(error)));
  else out.note('Try: the same with --log-level debug, which adds where it happened');
  return exitCodes.failed;
}

/** Commander ends help and version by throwing; with a group named alone it has shown the help already. */
function reportUsage(error: CommanderError, out: Output): ExitCode {
  if (error.exitCode === 0) return exitCodes.done;
  if (error.code !== 'commander.help') {
    const [message = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
    out.error(message);
    out.note(/\((Did you mean .+\?)\)/.exec(suggestion.join(' '))?.[1] ?? 'Try: rosterd --help');
  }
  return exitCodes.usage;
}

/** `help config show` is `config show --help`; commander's own looks at one word only. */
function spelledOut(args: readonly string[]): string[] {
  return args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : [...args];
}

function isDebugging(args: readonly string[]): boolean {
  return args.some(
    (arg, at) => arg === '--log-level=debug' || (arg === '--log-level' && args[at + 1] === 'debug'),
  );
}
