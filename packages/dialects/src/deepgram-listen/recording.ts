import { createHash } from 'node:crypto'
import type { DialectClient, NamedModel } from 'rxspeech-server/listen/dialect'
import { mixChannels, type Recording } from '../conversation/recording.js'
import { transcribe } from '../conversation/transcribe.js'
import type { Upload } from '../conversation/upload.js'
import { alternativeOf, joinSegments, metadataOf, modelInfo, segmentOf, type Segment } from './messages.js'
import type { ListenOptions } from './options.js'

const noSegment: Segment = { startMs: 0, endMs: 0, text: '', words: [], confidence: 0 }

/** Recognizes a file, and returns the answer. */
export const transcribeRecording = async (
  client: DialectClient,
  model: NamedModel,
  { isMultichannel, hasSpeakers, hasUtterances, parameters }: ListenOptions,
  file: Upload,
  open: () => Promise<Recording>,
): Promise<object> => {
  const createdMs = client.scheduler.now()
  const opened = await open()
  const recording = isMultichannel ? opened : mixChannels(opened)
  const { milestones, durationMs } = await transcribe(
    client,
    { modelName: model.name, modelTenant: model.tenant, gracefulSilenceThresholdMs: 0, ...parameters },
    recording,
  )
  const segments = milestones.map((milestone) => ({ channel: milestone.channel, segment: segmentOf(milestone, 0) }))
  const speakerOf = (channel: number): number | undefined => (hasSpeakers ? channel : undefined)
  const channels = Array.from({ length: recording.channelCount }, (_one, at) => {
    const own = segments.filter(({ channel }) => channel === at).map(({ segment }) => segment)
    return { alternatives: [alternativeOf(joinSegments(own) ?? noSegment, speakerOf(at))] }
  })
  const { name } = model
  return {
    metadata: {
      ...metadataOf(client.sessionId, {
        sha256: await sha256Of(file),
        createdMs,
        durationMs,
        channels: recording.channelCount,
      }),
      models: [name],
      model_info: { [name]: modelInfo(model) },
    },
    results: {
      channels,
      ...(hasUtterances && {
        utterances: segments.map(({ channel, segment }, at) => ({
          ...utteranceOf(segment, speakerOf(channel)),
          channel,
          id: `${client.sessionId}-${at}`,
        })),
      }),
    },
  }
}

const utteranceOf = (segment: Segment, speaker: number | undefined) => ({
  start: segment.startMs / 1000,
  end: segment.endMs / 1000,
  ...alternativeOf(segment, speaker),
  ...(speaker !== undefined && { speaker }),
})

const sha256Of = async (file: Upload): Promise<string> => {
  const hash = createHash('sha256')
  for await (const part of file.read()) hash.update(part)
  return hash.digest('hex')
}
