import type { LoadedConfig } from '../config/document.js';
import { Fault, isFault } from '../domain/fault.js';
import type { CommandContext, OptionDefinition } from './command.js';
import { configOf } from './config-options.js';
import { Options } from './options.js';

export const sandboxUrlOption: OptionDefinition = {
  flags: '--url <url>',
  summary: 'the sandbox (default: ROSTERD_SANDBOX, or platform.baseUrl if local)',
};

export interface PlatformPlace {
  /** Without a slash at the end and without the path of the control API. */
  readonly url: string;
  /** Named as a sandbox, or a configured platform on this machine, which can only be one. */
  readonly isSandbox: boolean;
}

/** Returns the address in `--url` or the environment, or else the configured platform. */
export async function platformUrlOf(
  { options, io }: CommandContext,
  load: () => Promise<LoadedConfig>,
): Promise<PlatformPlace> {
  const [{ isLoopback }, { shownValue }] = await Promise.all([
    import('../config/formats.js'),
    import('../config/shown-value.js'),
  ]);
  const named = options.text('url') ?? (io.env.ROSTERD_SANDBOX || undefined);
  const url = (named ?? (await load().catch(unnamed)).config.platform.baseUrl).trim();
  const { protocol = '', username, password } = URL.parse(url) ?? {};
  // Without a scheme, `localhost:4010` is one of its own.
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '')
    throw new Fault('usage', `${shownValue(url)} is not the address of a sandbox`, {
      hint: '--url http://127.0.0.1:PORT, as `rosterd sandbox` printed it',
    });
  return {
    url: url.replace(/\/+$/, '').replace(/\/_sandbox$/, ''),
    isSandbox: named !== undefined || isLoopback(new URL(url).hostname),
  };
}

/** Rethrows why there is no configuration, with the other way to name the platform. One with problems is to be fixed. */
async function unnamed(error: unknown): Promise<never> {
  const { InvalidConfig } = await import('../config/invalid-config.js');
  if (!isFault(error, 'usage') || error instanceof InvalidConfig) throw error;
  throw new Fault('usage', error.message, {
    ...error.about,
    hint: 'name a configuration with --config FILE, or the sandbox with --url http://127.0.0.1:PORT or ROSTERD_SANDBOX',
    cause: error,
  });
}

/** Throws `usage` when the configured platform is not on this machine. Ignores `--set`, which sets fields of records here. */
export async function sandboxUrl(context: CommandContext): Promise<string> {
  const config = context.options.text('config');
  const options = new Options(config === undefined ? {} : { config });
  const { url, isSandbox } = await platformUrlOf(context, () =>
    configOf({ ...context, options }, { draft: true }),
  );
  if (isSandbox) return url;
  throw new Fault('usage', `platform.baseUrl is ${url}, which is not a sandbox on this machine`, {
    hint: '--url http://127.0.0.1:PORT, as `rosterd sandbox` printed it',
  });
}
