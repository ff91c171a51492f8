import { Observable, takeUntil, type MonoTypeOperatorFunction } from 'rxjs'
import { validateFormat, type AudioFormat } from '../../audio/format.js'
import { SoundCheck } from '../../audio/sound-check/sound-check.js'
import type { SoundWarning } from '../../audio/sound-check/sound-warning.js'
import { notify } from '../../kernel/notify.js'
import { anything, checkOptions, functionValue, optionsOf } from '../../protocol/validation.js'

/** The audio that is examined, and what receives the warnings. */
export interface CheckSoundOptions {
  /** The format that the audio is said to have, such as that of `recognize`. */
  readonly format: AudioFormat
  /**
   * Called with each fault, once for each kind and channel, after the slice that made it certain has been emitted; for
   * `dead-channel` again, with `isOver`, when the channel has a signal.
   */
  readonly onWarning: (warning: SoundWarning) => void
}

const checkSoundOptions = optionsOf<CheckSoundOptions>()({ format: anything, onWarning: functionValue }, {})

/**
 * Examines audio for what is wrong with the audio itself, within about two seconds of speech: another encoding than
 * `format` says, swapped bytes, a wrong rate, two equal channels, clipping, a constant offset, mains hum, or a file
 * with its header instead of samples; and, after half a minute of sound, a channel that has had no signal. The audio
 * passes unchanged, also after a warning. The service makes the same check and reports it as the event `Audio Warning`;
 * here the page or program knows it before anything is sent.
 *
 * - Slices can have any length and can split a sample. Each subscription is examined separately.
 * - Completion and error: passes them on at once. An exception of `onWarning` is reported, and the audio continues.
 * - Unsubscription: stops examining; no warning follows.
 * - Buffering: copies of 100 ms of audio; the audio itself is never delayed. No timer.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * microphone$.pipe(checkSound({ format, onWarning: ({ message }) => console.warn(message) }), recognize(options))
 * ```
 */
export const checkSound = (options: CheckSoundOptions): MonoTypeOperatorFunction<Uint8Array> => {
  checkOptions(checkSoundOptions, options)
  const { format, onWarning } = options
  validateFormat(format)
  return (source$) =>
    new Observable((subscriber) => {
      const due: SoundWarning[] = []
      const check = new SoundCheck(format, (warning) => due.push(warning))
      const report = (): void => {
        for (let warning = due.shift(); warning !== undefined && !subscriber.closed; warning = due.shift()) {
          const found = warning
          notify(() => onWarning(found))
        }
      }
      // Ends a source that emits within its subscription as soon as the subscriber has unsubscribed.
      const ended$ = new Observable((ended) => subscriber.add(() => ended.next(undefined)))
      return source$.pipe(takeUntil(ended$)).subscribe({
        next: (slice) => {
          check.push(slice)
          subscriber.next(slice)
          report()
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      })
    })
}
