import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { engineConformance } from './engine-conformance.js'

engineConformance(
  'the scripted engine',
  () => Promise.resolve({ engine: scriptedEngine({ texts: ['one two'] }) }),
  // It returns its script for any audio
  { speech: () => Promise.resolve(new Int16Array(16_000)), text: /^one two$/, quietText: /^one two$/ },
)
