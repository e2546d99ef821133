/**
 * Called first by each script that `startOwnProcess` starts. The child process ends when its parent does. Signals do not
 * end it: a terminal and a service manager send theirs to the parent, too, which decides when its children end.
 */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit(0));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}
