/**
 * The programs of a live measurement. Each is a process of its own in a real run, so that none waits for the event loop
 * of another; a test runs them in its own process. All methods are asynchronous, as they are between processes.
 */
export const parts = {
  platform: async (options: import('./platform.js').PlatformOptions) =>
    (await import('./platform.js')).startPlatform(options),
  daemon: async (options: import('./daemon.js').DaemonOptions) =>
    (await import('./daemon.js')).startDaemonPart(options),
  'lean floor': async (options: import('./lean-floor.js').LeanFloorOptions) =>
    (await import('./lean-floor.js')).startLeanFloor(options),
  reader: async (options: import('./reader.js').ReaderOptions) =>
    (await import('./reader.js')).startReader(options),
  sender: async (_options: object) => (await import('./sender.js')).startSender(),
  'bare server': async (_options: object) => (await import('./bare-server.js')).startBareServer(),
  verifier: async (options: import('./verifier.js').VerifierOptions) =>
    (await import('./verifier.js')).startVerifier(options),
} as const;

export type PartName = keyof typeof parts;
export type OptionsOf<Name extends PartName> = Parameters<(typeof parts)[Name]>[0];
export type PartOf<Name extends PartName> = Awaited<ReturnType<(typeof parts)[Name]>>;
