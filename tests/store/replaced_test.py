"""A file that was replaced has its rows replaced, which is said once; one that is gone keeps them."""
import os
import unittest

from stores import HEADING, StoreTest, row


class Replaced(StoreTest):
    def test_by_a_shorter_one_another_one_and_another_beginning(self):
        self.write("dump/statistic.csv", HEADING + row(0) + row(1))
        self.write("other/statistic.csv", HEADING + row(7))
        self.add("runs.db", "dump")
        self.add("runs.db", "other")
        changes = {
            "shorter": lambda: self.write("dump/statistic.csv", HEADING + row(2)),
            "renamed over it": lambda: (self.write("new.csv", HEADING + row(3) + row(4)),
                                        os.replace("new.csv", "dump/statistic.csv")),
            "another beginning": lambda: self.write("dump/statistic.csv", HEADING + row(8) + row(5) + row(6)),
        }
        for (why, change), numbers in zip(changes.items(), ([2], [3, 4], [8, 5, 6]), strict=True):
            with self.subTest(why):
                change()
                self.assertEqual(self.add("runs.db", "dump").count("was replaced"), 1)
                self.assertNotIn("replaced", self.add("runs.db", "dump"))
                self.assertEqual(self.ask("SELECT time_us FROM tensorstat WHERE run = 'dump' ORDER BY line"),
                                 [(1000 + i,) for i in numbers])
                self.assertEqual(self.ask("SELECT time_us FROM tensorstat WHERE run = 'other'"), [(1007,)])
        os.remove("dump/statistic.csv")
        self.write("dump/x/statistic.csv", HEADING)
        self.add("runs.db", "dump")
        self.assertEqual(self.ask("SELECT count(*) FROM tensorstat"), [(4,)])

    def test_dump_json_is_read_again(self):
        def text(numbers):
            tensors = ",".join(
                f'"Module.a{i}.Linear.forward.0":{{"input_args":[{{"type":"torch.Tensor","dtype":"torch.float32",'
                f'"shape":[2],"Max":{i},"Min":0.0,"Mean":0.5,"Norm":1.0,"requires_grad":false}}],"input_kwargs":{{}},'
                f'"output":[]}}' for i in numbers)
            return f'{{"task":"statistics","level":"mix","framework":"pytorch","dump_data_dir":null,"data":{{{tensors}}}}}'

        self.write("dump/step0/rank0/dump.json", text([1]))
        self.add("runs.db", "dump")
        self.write("dump/step0/rank0/dump.json", text([1, 2, 3]))
        self.assertNotIn("replaced", self.add("runs.db", "dump"))
        self.add("runs.db", "dump")
        self.assertEqual(self.ask("SELECT max FROM tensorstat ORDER BY line"), [(1,), (2,), (3,)])


if __name__ == "__main__":
    unittest.main()
