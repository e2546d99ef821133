import fc from 'fast-check';
import { testSeed } from './chance.js';

// Left alone, fast-check takes a seed of the moment, and a run could not be repeated.
fc.configureGlobal({ seed: testSeed });

export default fc;
