import { dtmfDetector } from './signals/dtmf-detector.js'
import { eventFilter } from './events/event-filter.js'
import { eventTagger } from './events/event-tagger.js'
import type { AnyNodeDefinition } from './core/node.js'
import { phraseSpotter } from './events/phrase-spotter.js'
import { promptPlayer } from './playback/prompt-player.js'
import { recorder } from './recordings/recorder.js'
import { talkStatistics } from './signals/talk-statistics.js'
import { tonePlayer } from './playback/tone-player.js'
import { webhook } from './webhook/webhook.js'

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
