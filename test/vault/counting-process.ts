import { systemClock } from '../../src/runtime/clock.js';
import { isSharedProcessGone, processName } from '../../src/runtime/process-identity.js';
import { systemRandom } from '../../src/runtime/random.js';
import { openPostgresVault } from '../../src/store/dialect/postgres/vault.js';
import { openEncryptedVault } from '../../src/vault/encrypted-vault.js';

/* A process that reads a number under its lock and writes the next one, so many times. */
const [url = '', key = '', times = '0'] = process.argv.slice(2);
const vault = openEncryptedVault({
  entries: openPostgresVault({ kind: 'postgres', url, password: null }, { isGone: isSharedProcessGone }),
  keys: [{ name: 'vault.keys[0]', reveal: async () => key }],
  holder: processName(),
  clock: systemClock,
  random: systemRandom,
});
const { signal } = new AbortController();
for (let time = 0; time < Number(times); time += 1) {
  await vault.withLock('sign-in/count', signal, async () => {
    await vault.write('sign-in/count', `${Number(await vault.read('sign-in/count')) + 1}`);
  });
  process.send?.(time);
}
await vault.close();
process.disconnect();
