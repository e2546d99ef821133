import { systemClock } from '../../src/runtime/clock.js';
import { type Disk, systemDisk } from '../../src/runtime/replace-file.js';
import { openFileVault } from '../../src/vault/file-vault.js';

/* A process that writes an entry under its lock and kills itself before or after one file operation. */
const [folder = '', secret = '', step = '', when = ''] = process.argv.slice(2);

const die = async (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
const disk: Disk = {
  ...systemDisk,
  [step]: async (a: string, b: string) => {
    if (when === 'before') await die();
    await systemDisk[step as keyof Disk](a, b);
    await die();
  },
};
const vault = openFileVault({ folder, clock: systemClock, disk });
await vault.withLock('sign-in/crm', new AbortController().signal, () => vault.write('sign-in/crm', secret));
