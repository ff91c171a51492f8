// What a service has without configuration. A new engine, node or dialect is a folder or a package, and a line here.
import { deepgramListen } from 'rxspeech-dialects/deepgram-listen/deepgram-listen'
import { openAiRealtime } from 'rxspeech-dialects/openai-realtime/openai-realtime'
import { openAiTranscriptions } from 'rxspeech-dialects/openai-transcriptions/openai-transcriptions'
import { findFfmpeg } from 'rxspeech-server/recognition/ffmpeg'
import { RecordingIntake } from 'rxspeech-dialects/conversation/recording-intake'
import type { EngineKind } from 'rxspeech-engines/engine'
import { openai } from 'rxspeech-engines/openai/openai'
import { remote } from 'rxspeech-engines/remote/remote'
import { createSherpaOnnx, inProcesses, type SherpaHost } from 'rxspeech-engines/sherpa-onnx/sherpa-onnx'
import { soundswallower, soundswallowerLimits } from 'rxspeech-engines/soundswallower/soundswallower'
import { usableCpus } from 'rxspeech-engines/threads/usable-cpus'
import { vosk } from 'rxspeech-engines/vosk/vosk'
import { wyoming } from 'rxspeech-engines/wyoming/wyoming'
import { eventFilter } from 'rxspeech-nodes/events/event-filter'
import { eventTagger } from 'rxspeech-nodes/events/event-tagger'
import { phraseSpotter } from 'rxspeech-nodes/events/phrase-spotter'
import { promptPlayer } from 'rxspeech-nodes/playback/prompt-player'
import { tonePlayer } from 'rxspeech-nodes/playback/tone-player'
import { recorder } from 'rxspeech-nodes/recordings/recorder'
import { dtmfDetector } from 'rxspeech-nodes/signals/dtmf-detector'
import { levelMeter } from 'rxspeech-nodes/signals/level-meter'
import { talkStatistics } from 'rxspeech-nodes/signals/talk-statistics'
import { webhook } from 'rxspeech-nodes/webhook/webhook'
import { resample, transcode } from 'rxspeech-server/nodes/audio/conversion'
import { gain } from 'rxspeech-server/nodes/audio/gain'
import { channelMix, channelSplit, downmix } from 'rxspeech-server/nodes/audio/stereo'
import type { Dialect } from 'rxspeech-server/listen/dialect'
import { entry, publisher } from 'rxspeech-server/nodes/core/endpoints'
import type { AnyNodeDefinition } from 'rxspeech-server/nodes/core/node'
import { recognizer } from 'rxspeech-server/nodes/speech/recognizer'
import { voiceActivity } from 'rxspeech-server/nodes/speech/voice-activity'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { uploadLimitsOf, type ServiceOptions } from '../configuration/service-options.js'

/** The built-in engines, for this many CPUs. Each loads its package when the first of its models is opened. */
export const builtInEngines = (
  env: ServiceOptions['env'],
  cpus: number = usableCpus(),
  host: SherpaHost = inProcesses,
): readonly EngineKind[] => [
  soundswallower(soundswallowerLimits(cpus)),
  remote({ env }),
  createSherpaOnnx(host, cpus),
  openai({ env }),
  wyoming(),
  vosk({ env }),
]

/** The nodes that every project can use. */
export const builtInNodes: readonly AnyNodeDefinition[] = [
  entry,
  publisher,
  channelSplit,
  channelMix,
  downmix,
  gain,
  levelMeter,
  resample,
  transcode,
  voiceActivity,
  recognizer,
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

/** The nodes that projects can use: built-in ones and `more`. Throws `invalid-options` for a name that occurs twice. */
export const nodeCatalog = (more: readonly AnyNodeDefinition[] = []): readonly AnyNodeDefinition[] => {
  const nodes = [...builtInNodes, ...more]
  const names = nodes.map(({ name }) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated === undefined) return nodes
  throw new SpeechError('invalid-options', `There are two nodes with the name ${repeated}; rename one of them.`)
}

/** The interfaces of other speech services. */
const builtInDialects = (intake: RecordingIntake): readonly Dialect[] => [
  openAiTranscriptions(intake),
  openAiRealtime,
  deepgramListen(intake),
]

/** The dialects that the options name; in development all. Throws `invalid-options` for a name that is unknown. */
export const dialectsOf = (options: Partial<ServiceOptions>): readonly Dialect[] => {
  const { dialects, development = false } = options
  const { PATH } = options.env ?? process.env
  const all = builtInDialects(new RecordingIntake(uploadLimitsOf(options), findFfmpeg(PATH)))
  if (dialects === undefined) return development ? all : []
  return [...new Set(dialects)].map((name) => {
    const dialect = all.find((each) => each.name === name)
    if (dialect !== undefined) return dialect
    const known = all.map((each) => each.name).join(', ')
    throw new SpeechError('invalid-options', `There is no dialect ${JSON.stringify(name)}; the dialects are ${known}.`)
  })
}
