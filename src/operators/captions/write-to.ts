import { emitWarning } from 'node:process'
import { defer, finalize, merge, mergeMap, type MonoTypeOperatorFunction } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import { notify } from '../../kernel/notify.js'
import { checkOption, checkOptions, nonEmptyText } from '../../protocol/validation.js'
import { emitAtEnd } from '../emit-at-end.js'
import { GrowingFile, numberedPath } from './growing-file.js'
import { writeToOptions, type WriteToOptions } from './write-to-options.js'

/**
 * Writes texts to a file that is valid at any moment: each is in it whole or not at all. Of `toSrt` and `toWebVtt` it is
 * a subtitle file while the session still runs.
 *
 * - The file is replaced by the first text in one step, and grows by one write for each further text: an hour of captions
 *   is not written again. Only its owner can read it. Each further subscription has a file of its own: `call.vtt`,
 *   `call-2.vtt`. It must be a regular file.
 * - Emits each text when it is in the file. Writing is synchronous, so a process that is killed loses no text. Nothing is
 *   forced to the disk (fsync), so a power failure may lose the last seconds.
 * - A file that cannot be written (`write-failed`), such as on a full disk, does not end the stream, unless `onError` is
 *   `'end'`: what was written in part is removed, and texts wait, up to 1 MiB, for the next attempt with the next text.
 * - Completion, error and unsubscription: a last attempt for texts that wait, then the file is closed. Buffering: none
 *   while the file can be written.
 *
 * Throws `invalid-options` when it is called, in browsers always.
 *
 * @example
 * ```ts
 * session$.pipe(toCaptions(), toWebVtt({ channels: 2, maxWaitMs: 10_000 }), writeTo('meeting.vtt')).subscribe()
 * ```
 */
export const writeTo = (path: string, options: WriteToOptions = {}): MonoTypeOperatorFunction<string> => {
  checkOption('path', nonEmptyText, path)
  const { onError = warn } = checkOptions(writeToOptions, options)
  let subscriptions = 0
  return (text$) =>
    defer(() => {
      subscriptions += 1
      const file = new GrowingFile(numberedPath(path, subscriptions))
      const append = (text: string): readonly string[] => {
        const written = file.append(text)
        const fault = file.takeFault()
        if (fault !== undefined && onError === 'end') throw fault
        report(fault)
        return written
      }
      const report = (fault: SpeechError | undefined): void => {
        if (fault !== undefined && onError !== 'end') notify(() => onError(fault))
      }
      return merge(
        text$.pipe(mergeMap(append)),
        // A source that emits nothing at once has an empty file.
        defer(() => append('')),
      ).pipe(
        emitAtEnd(() => append('')),
        finalize(() => {
          file.close()
          report(file.takeFault())
        }),
      )
    })
}

const warn = ({ message }: SpeechError): void => emitWarning(message, 'CaptionWarning')
