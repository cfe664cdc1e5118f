// Tests that flite keeps the contract of an engine.
import { openFlite } from '../../src/engines/flite/flite.ts';
import { engineConformance } from '../conformance/engine.ts';

engineConformance('flite', () => openFlite({ threads: 2 }));
