import type { PatchErrorCode } from '../../src/core/patch/hunk.ts'
import type { RenderProblem } from '../../src/ports/documents.ts'
import type { ProgramLimit } from '../../src/ports/sandbox.ts'
import type { FileProblem } from '../../src/tools/exec/check-file.ts'
import type { ReferenceProblem } from '../../src/tools/resolve-reference.ts'

/** Why a patch was not applied. */
export const patchTexts: { readonly [Code in PatchErrorCode]: string } = {
  hunk_mismatch:
    'The old lines of a hunk are not in the file. Nothing was changed. Read the lines again and send a patch that repeats them exactly.',
  hunk_out_of_order: 'A hunk begins before the end of the hunk before it. Nothing was changed. Send the hunks in the order of the file.',
  invalid_hunk_header: 'A line that begins with `@@` is no header such as `@@ -12,3 +12,4 @@`. Correct the line that the message names.',
  invalid_hunk_line:
    'A line of a hunk does not begin with a space, `-`, `+` or `\\`. A line that stays the same must begin with a space. Correct the line that the message names.',
  no_hunks_found: 'The patch has no hunk with lines. Send a unified diff, or replace the file with `react.write`.',
  patch_multiple_files: 'The patch is for several files. Send one patch for each file.',
  patch_too_costly:
    'The line number of a hunk is wrong, and too many lines of the file are alike to find its place. Nothing was changed. Correct the line numbers, or replace the file.',
  patch_too_large: 'The patch has more than 1,048,576 characters. Write the file again with `react.write`.',
}

/** Which limit ended a program. `file_size_limit` is also a problem of a file. */
export const limitTexts: { readonly [Code in ProgramLimit]: string } = {
  cpu_limit: 'A process of the program used too much processor time. Divide the work, or raise the [limit](../sandbox.md#limits).',
  exec_workspace_delta_limit:
    'The program wrote too many bytes or files, or its folders could not be measured. Write less, or raise the [limit](../sandbox.md#limits).',
  file_size_limit: 'A file of a program is too large. Write smaller files, or raise the [limit](../sandbox.md#limits).',
  memory_limit: 'The program used too much memory. Read the data in parts, or raise the [limit](../sandbox.md#limits).',
  timeout:
    'The program did not end in time. Divide the work, or ask for more time with `timeout_s`, up to the [limit](../sandbox.md#limits).',
  workspace_size_limit:
    'The folders of the conversation were too large before the program started, so it did not run. Remove files, or raise the [limit](../sandbox.md#limits).',
}

/** Why a document was not made. */
export const renderingTexts: { readonly [Code in `render_${RenderProblem}` | 'MermaidSyntaxError']: string } = {
  MermaidSyntaxError:
    'A diagram has an error, so the document was not made. Correct the diagram as the message says. An error to which Mermaid gives a name, such as `UnknownDiagramError`, has this name as its code.',
  render_cancelled: 'The call was stopped before the document was ready. Call the tool again if the document is still needed.',
  render_content: 'The content has an error, for example a selector that matches no element. Correct it as the message says.',
  render_failed: 'The browser or the program that makes documents failed. Try again. The message has the cause.',
  render_memory: 'The document needs too much memory. Make it shorter, and use smaller pictures.',
  render_timeout: 'The document was not ready in time. Make it shorter, and remove scripts that do not end.',
  render_too_large: 'The document or the picture is too large. Use less content, or fewer and smaller pictures.',
  render_unavailable:
    'A browser or a package is missing on this machine. Run `daybook doctor`. It says what to install. See [Documents](../documents.md).',
}

/** Why a file of a program was not delivered. `artifact_invalid` and `file_size_limit` are left out, because they are also codes of calls. */
const fileTexts: { readonly [Code in Exclude<FileProblem['code'], 'artifact_invalid' | 'file_size_limit'>]: string } = {
  artifact_hard_link_blocked: 'A file of a program is a hard link. Write a file of its own.',
  artifact_internal_path_blocked:
    'An archive that a program wrote has an entry that leads out of it, or a link. Write the archive without it.',
  artifact_not_regular_file: 'A file of a program is a folder, a pipe, a socket or a device. Write a regular file.',
  artifact_path_escape_blocked: 'A folder in the path of a file is a link. Write to a folder of the turn.',
  artifact_symlink_blocked: 'A file of a program is a symbolic link. Write a file of its own.',
  artifact_unreadable:
    'A program has changed the permissions of its file, so the file can not be opened. Leave the permissions as they are.',
  empty_file: 'A file of a program is empty. Write its content, or remove it from the contract.',
  missing_file: 'The program did not write a file of its contract. Write it to the path of the contract.',
}

/** Why a reference in the parameters of a call was not replaced by content. `workspace_version_unavailable` is also a code of calls. */
const referenceTexts: { readonly [Code in Exclude<ReferenceProblem, 'workspace_version_unavailable'>]: string } = {
  fi_ref_not_materialized: 'The file is not in the workspace. Pull it with `react.pull` first.',
  ref_file_unsafe: 'The file is a link, is no regular file, or is too large. Refer to a regular file.',
  ref_internal_not_visible: 'The content is internal. Write it as an external artifact and refer to that.',
  ref_not_text: 'The content is not text, and the parameter takes text. Refer to a text.',
  ref_not_visible: 'The path does not exist, or its content is not in the prompt. Bring it back with `react.read` first.',
  ref_other_conversation: 'The path is in another conversation. Give the content itself.',
  refs_too_large: 'The references of the call have more than 32 MiB together. Refer to less in one call.',
  renderer_content_ref_not_text: 'The content of a document must be text. Refer to a text.',
  sources_list_requires_so_ref: 'The parameter `sources_list` takes sources. Refer to them with `ref:so:sources_pool[…]`.',
}

/** Codes in the details of an error or a notice. */
export const detailTexts: Readonly<Record<string, string>> = {
  ...fileTexts,
  ...referenceTexts,
  bad_params: 'The parameters of the call are not an object. Send an object.',
  invalid_contract: 'The contract of a program is not a list of files with `filename` and `description`. Correct the list.',
  missing_contract: 'The contract of a program is missing or empty. List the files that the program writes.',
  missing_param: 'A required parameter is missing. Send the call again with it.',
  unknown_param: 'The tool has no such parameter. It was left out.',
  unknown_tool_id: 'There is no such tool. `suggestions` has similar names.',
  wrong_type: 'A parameter has a wrong type. `expected` has the right one.',
}
