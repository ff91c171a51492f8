import { throwError } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { createMicrophone, type Microphone } from './microphone-audio.js'
import { microphoneFormat, type MicrophoneOptions } from './microphone-options.js'

/**
 * The microphone of a browser, as audio for `recognize`: 16-bit PCM in pieces of 20 ms, resampled to `sampleRateHz` in
 * an AudioWorklet. The Observable is cold. Each subscription asks for the permission, opens the device and releases it
 * at its end; subscribe in the handler of a click, because browsers start audio only for a user who has done something.
 *
 * - Audio comes as long as the subscription lasts, in the background too. A device that is muted gives silence, so a
 *   session does not end; `state$` is `muted` then, and `suspended` while the browser keeps audio back, until the next
 *   click or key.
 * - `deviceId` as an Observable switches between devices. The one before is used until the next one is open.
 * - Completion: never. To end a session, use `finalize$` or `stop$` of `recognize`, which then unsubscribe.
 * - Unsubscription: stops the device and closes the audio context, also while the permission is asked for.
 * - Buffering: none.
 *
 * Errors: `microphone-denied`, `microphone-missing`, `microphone-busy`, `microphone-lost` when it is unplugged,
 * `microphone-unsupported` (a page without https, an old browser, Node, where `commandMicrophone` records), and
 * `source-failed` if the worklet cannot be loaded or the browser delivers no audio for 10 s.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * const voice$ = microphone({ sampleRateHz: 16_000 })
 * recognize({ url, token, model: 'dictation', format: voice$.format })(voice$).subscribe(console.log)
 *
 * @example
 * const deviceId$ = new BehaviorSubject('') // the default device
 * const voice$ = microphone({ deviceId: deviceId$ })
 * voice$.levels$.subscribe(({ peak }) => console.log('level', peak))
 */
export const microphone = (options: MicrophoneOptions = {}): Microphone => {
  const advice = 'A microphone of a browser was requested outside of one; in Node, use commandMicrophone.'
  return createMicrophone(microphoneFormat(options), () =>
    throwError(() => new SpeechError('microphone-unsupported', advice)),
  )
}
