import { dtmfDetector } from './dtmf-detector.js'
import { eventFilter } from './event-filter.js'
import { eventTagger } from './event-tagger.js'
import type { AnyNodeDefinition } from './node.js'
import { phraseSpotter } from './phrase-spotter.js'
import { promptPlayer } from './prompt-player.js'
import { recorder } from './recorder.js'
import { talkStatistics } from './talk-statistics.js'
import { tonePlayer } from './tone-player.js'
import { webhook } from './webhook.js'

/** The nodes of events and telephony, which every project may use. */
export const eventNodes: readonly AnyNodeDefinition[] = [
  phraseSpotter,
  dtmfDetector,
  talkStatistics,
  eventTagger,
  eventFilter,
  recorder,
  webhook,
  tonePlayer,
  promptPlayer,
]
