import type { SandboxCalls } from '../tasks/sandbox-calls.js';
import type { CommandContext } from './command.js';
import { configOf } from './config-options.js';
import { platformUrlOf } from './sandbox-url.js';

/** Returns the calls to the sandbox that the command line, the environment or the configuration names; null for a real platform. */
export async function deliveryCalls(context: CommandContext): Promise<SandboxCalls | null> {
  const { url, isSandbox } = await platformUrlOf(context, () => configOf(context, { draft: true }));
  if (!isSandbox) return null;
  const { hasControlApi } = await import('../tasks/deliveries.js');
  const calls = { url, signal: context.signal };
  return (await hasControlApi(calls)) ? calls : null;
}
