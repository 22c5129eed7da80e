#!/usr/bin/env python3
"""coverage.py ROOT [--write]: coverage.md beside this script, made from portals4.h and the tests' sources: which tests pin which
function, constant and event kind of Portals 4.3, and which pin what implementations were seen to get wrong.

Without --write it fails when a name has no test, a test named below does not exist, or coverage.md is out of date.
A test pins a name that it mentions itself, or else one that the helpers which it calls mention; of many tests those that
mention the fewest names stand first.
"""
import pathlib
import re
import sys
import textwrap

SHOWN = 3  # at most so many tests are named for each name

# What implementations were seen to get wrong, and the tests that say it is right here.
PITFALLS = [
    ("PtlCTWait ends on any failure, a trigger fires on success + failure", "Counting.AWaitEndsOnAnyFailureWhileATriggerNeedsTheSum"),
    ("All of memory (NULL, PTL_SIZE_MAX) is an MD or entry; nothing wraps or is registered",
     "Lists.AllOfMemoryIsNamedByAbsoluteAddresses Lists.NoTruncateTakesPartInMatching"),
    ("AUTO_UNLINK after the communication event; PUT_OVERFLOW, AUTO_FREE, AUTO_UNLINK; AUTO_FREE for what unlinked itself from the overflow list only",
     "Overflow.PutOverflowThenAutoFreeThenAutoUnlink Overflow.AManualUnlinkEmitsNoAutoFree Lists.AutoUnlinkComesAfterTheEventsOfAllMessagesInTheEntry "
     "Lists.UseOnceServesOneMessageAndAutoUnlinkFollowsItsEvent"),
    ("Unlink right after event, count or ACK is never IN_USE; of a consumed entry ARG_INVALID",
     "Lists.UnlinkIsNeverInUseOnceTheEventTheCountOrTheAckWasSeen Overflow.AnEntryConsumedAtItsAppendEmitsNoLinkAndItsHandleIsStale"),
    ("MD, EQ and CT may go while an ACK is under way", "Counting.DescriptorQueueAndCounterMayGoWhileAnAckIsUnderWay"),
    ("Append against arrival; a header is found once its event is seen; USE_ONCE consumed at append emits no LINK",
     "Overflow.NoMessageSlipsBetweenAnAppendsSearchAndItsLink Search.AHeaderIsFoundAsSoonAsTheEventOfItsMessageIsSeen "
     "Overflow.AnEntryConsumedAtItsAppendEmitsNoLinkAndItsHandleIsStale"),
    ("CT_ACK and OC_ACK never give a full event; OC_ACK counts refusals", "Counting.AcksForTheCountNeverMakeAFullEventAndOcAcksCountRefusalsToo"),
    ("A failed permission ends the search, leaves the entry, has its own register and is no drop",
     "Lists.APermissionFailureEndsTheSearchLeavesTheEntryAndCountsInItsOwnRegister Lists.AnOperationThatTheEntryDoesNotAllowIsAViolationNotADrop"),
    ("NO_TRUNCATE takes part in matching; else truncation is no error; beyond the end mlength is 0",
     "Lists.NoTruncateTakesPartInMatching Lists.TruncationIsTheDefaultAndNoError Lists.AnOffsetBeyondTheEndTakesNothingAndIsNoError"),
    ("Event queues drop exactly; flow control acts exactly, with a reserved slot",
     "Queues.AFullOneKeepsTheNewestEventsAndSaysOnceThatSomeWereLost FlowControl.AFullQueueClosesThePortalExactlyLosesNothingAndTheReservedSlotSaysSo"),
    ("One PT_DISABLED, after the messages under way; none by hand; a disabled portal's appends consume headers",
     "FlowControl.OnePtDisabledComesAfterTheMessagesUnderWay Portal.ClosedByHandItRefusesWithoutAnEventAndAppendsStillTakeHeaders"),
    ("A put from a volatile descriptor above the limit is done; a limit of ordered sizes that was asked for is kept",
     "AskedSizes.WhatIsVolatileIsCopiedUpToTheLimitAndDoneAboveIt AskedSizes.WhatComesBehindALongPutDoesNotOvertakeIt"),
    ("A message without a match disables a portal with flow control", "FlowControl.AMessageThatMatchesNothingClosesThePortalAndOneEventSaysSo"),
    ("Limits exactly as asked for, garbage tolerated, NO_SPACE", "Limits.AreExactlyWhatWasAskedForWithinTheRange "
     "Limits.TakeWhateverIsDesired Exactly.SoManyObjectsAndThenNoSpace TriggeredLimit.IsExactAndFiringCancellingAndFreeingGiveRoomBack Overflow.UnexpectedHeadersAreLimitedAsAskedFor"),
    ("The first portal is 0; interface handles are equal on all ranks; PtlGetPhysId before PtlSetMap",
     "PortalTable.GivesTheLowestFreeEntryBeginningWithZero Lifetime.InterfaceHandlesHaveTheSameValueOnAllRanks "
     "Interfaces.FourOfThemAreWorldsOfTheirOwnWithOneNidAndPid"),
    ("A second PtlNIInit without wishes gives the same handle, counted", "Surface.TheSameInterfaceOpenedAgainIsTheSameHandleAndCounted"),
    ("Searches are synchronous; a persistent one reports all, and its end as a failure count",
     "Search.ItsResultIsThereWhenTheCallReturns Search.APersistentSearchReportsAllMatchesAndMarksItsEndByAFailureCount"),
    ("SEND before ACK, and OK also for what is then refused; SEND_DISABLE silences failures too",
     "Counting.SendIsOkAlsoWhenTheOperationIsThenRefusedAndMayBeSilenced Move.SendComesBeforeAckAndBothNameTheOperation InitiatorTest.SendDisableSilencesASendThatFailsToo"),
    ("SUCCESS_DISABLE silences events, never counts, no failures; LINK has its own option",
     "Counting.SuccessDisableSilencesEventsNeverCountsAndFailuresAreStillTold Lists.EventOptionsSilenceTheirOwnEventsAndNeverCounts"),
    ("CT_BYTES: rlength for SEND, mlength else, a failure is one", "Counting.SendCountsTheBytesRequestedAckReplyAndTargetThoseTakenAndAFailureOne"),
    ("Triggered data is read when it fires; equal thresholds in order; no recursion; self-increment; increments wrap",
     "Triggering.DataIsReadWhenTheOperationFiresAndTheDescriptorMayBeGone Triggering.LowerThresholdsFireFirstAndEqualOnesInTheOrderOfIssue "
     "Triggering.ACounterMayIncrementItselfAHundredThousandTimes Triggered.AChainOfAHundredThousandHopsRunsWithoutRecursion "
     "Counting.IncrementsWrapModulo64BitsAndASetMayLower"),
    ("Four interfaces are worlds of their own with one nid and pid", "Interfaces.FourOfThemAreWorldsOfTheirOwnWithOneNidAndPid"),
    ("Which way conditional swaps compare, what the mask picks, complex and long double, one datum only",
     "Atomics.AConditionalSwapComparesTheOperandWithTheTargetAndAMaskPicksBits Atomics.EveryPairOfOperationAndTypeDoesWhatTheTableSaysOrIsRefused"),
    ("min_free is garbage without MANAGE_LOCAL; MAY_ALIGN packs tightly",
     "Lists.MinFreeMeansNothingWithoutALocalOffset Lists.LocallyManagedEntriesPackTightlyAndUnlinkBelowMinFree"),
    ("The ACK's list, mlength and actual offset; the target's requested offset",
     "Lists.TheAckNamesTheListAndWhatWasTakenThere Lists.TheTargetsEventTellsAllAboutTheMessageAndTheRequestedOffset"),
    ("PtlNIFini flushes, and late answers find nobody", "Lifetime.WhatWasIssuedBeforeTheInterfaceIsClosedStillArrives"),
    ("The names of 4.2 and of 4.3, with distinct values", "PortalsHeader.ReturnCodesOfBothRevisionsAreDistinct"),
    ("ACK_REQ needs an EQ, CT_ACK_REQ a CT, OC_ACK_REQ nothing", "Arguments.OfDataMovement Arguments.AnAckForTheCountAloneIsNeverRefused"),
    ("With PTL_IOVEC, length is a count on both sides", "Lists.AnIovecsLengthIsACountOnBothSides"),
    ("Progress while all sleep, or only look", "Offload.ATokenGoesRoundAsOftenAsArmedWithNoCallInBetween Queues.ACallerThatOnlyLooksSeesProgress"),
    ("PtlAbort ends the waits that are there and is over; a handle is freed while another thread holds it",
     "Queues.AbortEndsEveryWaitThatIsThereAndLaterCallsWork Queues.OneMayBeFreedWhileAThreadWaitsAndAPortalNamesIt"),
    ("The library exports what its headers declare and nothing else", "symbols_test.py"),
]

KEYWORDS = {"if", "for", "while", "switch", "return", "catch", "sizeof", "TEST", "TEST_F", "TEST_P", "TYPED_TEST"}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def body_at(text, brace):
    depth = 0
    for i in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[brace:i + 1]
    return text[brace:]


def header_names(text):
    """The sections of the table: title, and the names below it in the order of the header."""
    text = without_comments(text)
    functions = re.findall(r"^(?:int|void) (Ptl\w+)\(", text, re.MULTILINE)
    constants = []
    for name in re.findall(r"^(?:#define|   ) *(PTL_[A-Z0-9_]+)\b", text, re.MULTILINE):
        if not name.endswith(("_LAST", "_MASK")) and name not in constants:
            constants.append(name)
    # An LE option is the ME option of the same name; PTL_CT_OPERATION and PTL_CT_BYTE are used by no function.
    constants = [n for n in constants if n.replace("PTL_LE_", "PTL_ME_") == n and n not in ("PTL_CT_OPERATION", "PTL_CT_BYTE")]
    returns = re.search(r"enum ptl_retvals \{(.*?)\}", text, re.DOTALL).group(1)
    fails = re.search(r"\{(\s*PTL_NI_OK.*?)\}", text, re.DOTALL).group(1)
    acks = re.search(r"\{(\s*PTL_NO_ACK_REQ.*?)\}", text, re.DOTALL).group(1)
    operations = re.search(r"\{(\s*PTL_MIN .*?)\}", text, re.DOTALL).group(1)
    types = re.search(r"\{(\s*PTL_INT8_T .*?)\}", text, re.DOTALL).group(1)

    def within(part):
        return [n for n in constants if re.search(rf"\b{n}\b", part)]

    sections = [("Functions", functions), ("Event kinds", [n for n in constants if n.startswith("PTL_EVENT_")]),
                ("Options of interfaces, and features", [n for n in constants if n in ("PTL_TARGET_BIND_INACCESSIBLE", "PTL_TOTAL_DATA_ORDERING",
                 "PTL_COHERENT_ATOMICS") or (n.startswith("PTL_NI_") and n not in within(fails))]),
                ("Options of portal table entries", [n for n in constants if n.startswith("PTL_PT_") and n not in within(returns) and n != "PTL_PT_ANY"]),
                ("Options of memory descriptors", ["PTL_IOVEC"] + [n for n in constants if n.startswith("PTL_MD_")]),
                ("Options of list entries", [n for n in constants if n.startswith("PTL_ME_")]),
                ("Acknowledgements", within(acks)), ("Operations", within(operations)), ("Datatypes", within(types)),
                ("Failures in events", within(fails)), ("Return codes", within(returns))]
    taken = {n for _, names in sections for n in names}
    return sections + [("Lists, registers and special values", [n for n in constants if n not in taken])]


class Source:
    """One file: its tests' bodies, and its helpers: functions and constants by name."""

    def __init__(self, root, path):
        text = without_comments(path.read_text(encoding="utf-8"))
        self.includes = [root / name for name in re.findall(r'#include "(tests/[^"]+)"', text)]
        self.tests, self.helpers = {}, {}
        for found in re.finditer(r"\b(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)\s*\{", text):
            self.tests[f"{found.group(1)}.{found.group(2)}"] = body_at(text, found.end() - 1)
        for found in re.finditer(r"\b(\w+)\([^;{}]*\)\s*(?:const\s*)?(?:override\s*)?\{", text):
            if found.group(1) not in KEYWORDS:
                self.helpers[found.group(1)] = self.helpers.get(found.group(1), "") + body_at(text, found.end() - 1)
        for found in re.finditer(r"\b(k[A-Z]\w*)(?:\[\])?\s*=\s*([^;]*);", text):
            self.helpers[found.group(1)] = self.helpers.get(found.group(1), "") + found.group(2)


def mentions(body, helpers):
    """The names that a test mentions itself, and those that its helpers do."""
    word = re.compile(r"\b\w+\b")
    direct = set(word.findall(body))
    seen, todo, indirect = set(), [w for w in direct if w in helpers], set()
    while todo:
        helper = todo.pop()
        if helper in seen:
            continue
        seen.add(helper)
        words = set(word.findall(helpers[helper]))
        indirect |= words
        todo += [w for w in words if w in helpers]
    return direct, indirect - direct


def collect(root):
    sources = {}

    def read(path):
        if path not in sources:
            sources[path] = Source(root, path)
        return sources[path]

    def visible(path, seen):
        if path in seen:
            return {}
        seen.add(path)
        helpers = {}
        for include in read(path).includes:
            helpers.update(visible(include, seen))
        return {**helpers, **read(path).helpers}

    found = {}
    for folder in ("portals", "engine"):
        for path in sorted((root / "tests" / folder).glob("*_test.cpp")):
            helpers = visible(path, set())
            for name, body in read(path).tests.items():
                found[(name, path.name)] = mentions(body, helpers)
    return found


def item(mark, text):
    """An item of a list, wrapped between words."""
    return textwrap.wrap(f"{mark} {text}", 138, subsequent_indent=" " * (len(mark) + 1), break_long_words=False, break_on_hyphens=False)


def table(sections, tests):
    known = {name for _, names in sections for name in names}
    known |= {name.replace("PTL_ME_", "PTL_LE_") for name in known}
    lines, gaps = [], []
    for title, names in sections:
        lines += ["", f"## {title}", ""]
        for name in names:
            wanted = {name, name.replace("PTL_ME_", "PTL_LE_")}
            ranked = []
            for (test, file), (direct, indirect) in tests.items():
                if wanted & direct:
                    ranked.append((0, len(known & direct), file, test))
                elif wanted & indirect:
                    ranked.append((1, len(known & direct), file, test))
            if not ranked:
                gaps.append(f"no test mentions {name}")
            ranked.sort()
            lines += item("-", f"`{name}`: " + ", ".join(test for _, _, _, test in ranked[:SHOWN]))
    return lines, gaps


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    page = root / "tests" / "portals" / "coverage.md"
    tests = collect(root)
    lines, problems = table(header_names((root / "portals" / "portals4.h").read_text(encoding="utf-8")), tests)
    names = {test for test, _ in tests}
    text = ["# What the tests of Portals pin", "",
            "Made by `tests/portals/coverage.py . --write` from `portals4.h` and the tests' sources; a test fails when it is out of date or has a gap.",
            "Tests of the calls run on one to eight ranks over `self`, `node`, `fabric` by TCP and by libfabric's shm and with every form of progress;",
            "tests of the engine step it by hand. `PTL_ME_X` stands for `PTL_LE_X`, too.", "",
            "## What implementations get wrong, and what is right", ""]
    for number, (sentence, pinned) in enumerate(PITFALLS, 1):
        for test in pinned.split():
            if test not in names and not (root / "tests" / "portals" / test).exists():
                problems.append(f"there is no test {test}, named for: {sentence}")
        text += item(f"{number}.", f"{sentence}: {', '.join(pinned.split())}")
    text = "\n".join(text + lines) + "\n"
    if "--write" in sys.argv:
        page.write_text(text, encoding="utf-8")
    elif not page.exists() or page.read_text(encoding="utf-8") != text:
        problems.append(f"{page} is out of date; run: tests/portals/coverage.py . --write")
    print("\n".join(problems) or f"{len(tests)} tests, no gap")
    sys.exit(bool(problems))


main()
