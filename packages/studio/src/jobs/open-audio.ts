import type { Model } from '../session/config.js'
import { readRecording } from '../session/read-recording.js'
import { loadSample, microphoneSource, playedSource, recordedSource } from '../session/sources.js'
import type { OpenAudio, OpenedAudio } from './job.js'

/** The rate of microphones and files for models that take any. */
const defaultRateHz = 16_000

const rateOf = ({ sampleRateHz = defaultRateHz }: Model): number => sampleRateHz

/** Opens files. They are decoded one after another, because each takes memory. */
export const createFileOpener = (): ((file: File, model: Model) => OpenAudio) => {
  let last: Promise<unknown> = Promise.resolve()
  return (file, model) => (progress, signal) => {
    const before = last
    const read = async (): Promise<OpenedAudio> => {
      await before.catch(() => undefined)
      signal.throwIfAborted()
      progress('Reading the file.')
      const recording = await readRecording(file, rateOf(model), signal)
      return { source: recordedSource(recording, file.name), audio: file, fault: recording.fault }
    }
    const reading = read()
    last = reading
    return reading
  }
}

/** Loads the sample call, which is played at the pace of speech. */
export const openSample =
  (url: string, model: Model): OpenAudio =>
  async (progress, signal) => {
    const audio = await loadSample(
      url,
      (percent) => progress(`Loading the sample call${percent === undefined ? '' : `: ${percent} %`}.`),
      signal,
    )
    const recording = await readRecording(audio, rateOf(model), signal)
    return { source: await playedSource(recording, 'Sample call', ['Restaurant', 'Guest']), audio }
  }

export const openMicrophone =
  (deviceId: string, model: Model): OpenAudio =>
  () =>
    Promise.resolve({ source: microphoneSource(deviceId, rateOf(model) === 8000 ? 8000 : 16_000) })
