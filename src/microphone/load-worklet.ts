import { SpeechError } from '../errors/speech-error.js'

/**
 * Loads the file of the worklet into an audio context. A bundler that does not know `new URL(…, import.meta.url)`
 * leaves the file behind; then the worklet comes from a Blob, which a content security policy can forbid. A given
 * address has no such substitute.
 */
export const loadWorklet = async ({ audioWorklet }: AudioContext, given?: string | URL): Promise<void> => {
  if (given !== undefined) return audioWorklet.addModule(given).catch(refuse(given))
  // In the build of CommonJS, which has this file without using it, the compiler does not allow `import.meta`.
  // eslint-disable-next-line @typescript-eslint/ban-ts-comment -- it is no error in the build of ES modules
  // @ts-ignore
  const url = new URL('./worklet.js', import.meta.url)
  await audioWorklet.addModule(url).catch(() => loadFromBlob(audioWorklet).catch(refuse(url)))
}

const loadFromBlob = async (audioWorklet: AudioWorklet): Promise<void> => {
  const { workletSource } = await import('./worklet-source.js')
  const url = URL.createObjectURL(new Blob([workletSource], { type: 'text/javascript' }))
  await audioWorklet.addModule(url).finally(() => URL.revokeObjectURL(url))
}

const refuse =
  (url: string | URL) =>
  (cause: unknown): never => {
    const remedy = 'serve worklet.js of rxspeech from your own site, and set workletUrl to its address'
    throw new SpeechError('source-failed', `The browser cannot load the worklet ${String(url)}; ${remedy}.`, { cause })
  }
