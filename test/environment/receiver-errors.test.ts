import { expect, onTestFinished, test, vi } from 'vitest';
import { silentLogger } from '../../src/runtime/logger.js';
import { receiverFixture } from '../inbox/support/receiver-fixture.js';

const its = receiverFixture();

test('receiver: an error after the response is counted, logged and not printed, and the delivery stays accepted', async () => {
  // Outside of tests, Express prints errors that it handles itself.
  vi.stubEnv('NODE_ENV', 'production');
  onTestFinished(() => void vi.unstubAllEnvs());
  const printed = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => printed.mockRestore());
  const lines: unknown[] = [];
  const failure = new Error('made up');
  await its.build({
    logger: { ...silentLogger, error: (...line) => void lines.push(line) },
    onAccepted: () => {
      throw failure;
    },
  });
  expect((await its.deliver()).status).toBe(202);
  expect(its.receiver.status().results).toMatchObject({ accepted: 1, defect: 1 });
  expect(lines).toEqual([[{ error: failure, count: 1 }, 'deliveries could not be accepted']]);
  expect((await its.deliver()).status).toBe(202);
  expect(printed).not.toHaveBeenCalled();
});
