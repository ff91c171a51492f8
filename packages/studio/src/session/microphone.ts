import { catchError, type Observable } from 'rxjs'
import { isSpeechError, SpeechError } from 'rxspeech'
import { microphone } from 'rxspeech/microphone'

/** The microphone of the page: 16-bit PCM, one channel, in chunks of 20 ms. */
export const openMicrophone = (deviceId: string, sampleRateHz: 8000 | 16_000): Observable<Uint8Array> =>
  microphone({ deviceId, sampleRateHz }).pipe(
    catchError((cause: unknown) => {
      // With a cause it speaks to the author of a page.
      if (!isSpeechError(cause) || cause.code !== 'source-failed' || cause.cause === undefined) throw cause
      throw new SpeechError('microphone-unsupported', unreadable, { cause })
    }),
  )

const unreadable =
  'The page cannot read the microphone. Reload it; if that does not help, use another browser, or choose a recording.'

/** The microphones of this computer; without names until a person has allowed one. */
export const listMicrophones = async (): Promise<readonly MediaDeviceInfo[]> => {
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => [])
  return devices.filter(({ kind, deviceId }) => kind === 'audioinput' && deviceId !== '')
}
