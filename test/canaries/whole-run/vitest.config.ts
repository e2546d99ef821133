import { defineConfig, mergeConfig } from 'vitest/config';
import usual from '../../../vitest.config.js';

/** Every test unchanged, with recording. */
export default mergeConfig(
  usual,
  defineConfig({
    root: new URL('../../..', import.meta.url).pathname,
    test: { setupFiles: ['test/canaries/whole-run/setup.ts'] },
  }),
);
